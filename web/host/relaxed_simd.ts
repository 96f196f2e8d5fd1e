// Whether this engine supports relaxed SIMD, which the faster of the two .wasm files needs.

// One function () -> v128: i32.const 0 and i8x16.splat three times, then i32x4.relaxed_dot_i8x16_i7x16_add_s.
const kHead = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, 1, 5, 1, 0x60, 0, 1, 0x7b, 3, 2, 1, 0];
const kSplat = [0x41, 0, 0xfd, 0x0f];
const kProbe = [...kHead, 10, 19, 1, 17, 0, ...kSplat, ...kSplat, ...kSplat, 0xfd, 0x93, 0x02, 0x0b];

export const hasRelaxedSimd = (): boolean => WebAssembly.validate(new Uint8Array(kProbe));
