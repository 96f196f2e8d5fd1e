// The activations, with the polynomials and formulas of src/kernels/math.h.
const kErf = `
fn erf(x: f32) -> f32 {
  let z = clamp(x, -3.95f, 3.95f);
  let u = z * z;
  let p = ((((2.01173976e-6f * u + 2.87601695e-4f) * u + 3.91735183e-3f) * u + 5.32071628e-2f) * u + 0.194036439f) * u + 1.12837899f;
  let q = ((((3.78397381e-5f * u + 1.19820971e-3f) * u + 1.52707688e-2f) * u + 0.115591064f) * u + 0.505291820f) * u + 1.0f;
  return z * p / q;
}`;
const kTanh = 'fn tanh_of(x: f32) -> f32 { let y = clamp(x, -10.0f, 10.0f); return 1.0f - 2.0f / (exp(y + y) + 1.0f); }';
const kSigmoid = 'fn sigmoid_of(x: f32) -> f32 { return 1.0f / (1.0f + exp(-max(x, -87.0f))); }';

const kBodies: Record<string, [value: string, functions?: string]> = {
  '': ['x'],
  gelu: ['0.5f * x * (1.0f + erf(x * 0.707106781f))', kErf],
  relu: ['max(x, 0.0f)'],
  relu2: ['max(x, 0.0f) * max(x, 0.0f)'],
  tanh: ['tanh_of(x)', kTanh],
  gelu_tanh: ['0.5f * x * (1.0f + tanh_of(0.797884561f * (0.044715f * x * x * x + x)))', kTanh],
  silu: ['x * sigmoid_of(x)', kSigmoid],
  sigmoid: ['sigmoid_of(x)', kSigmoid],
};

/** WGSL that defines `activation(x)`. */
export function activation(name: string): string {
  const [value, functions = ''] = kBodies[name]!;
  return `${functions}\nfn activation(x: f32) -> f32 { return ${value}; }`;
}

/** WGSL that defines `tanh_of(x)`. */
export const tanh = kTanh;
