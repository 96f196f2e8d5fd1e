// Types of webkit.mjs for the tests in TypeScript.
export interface WebKit {
  open(url: string, hear?: (line: string) => void): Promise<WebKitPage>;
  close(): Promise<void>;
}
export interface WebKitPage {
  go(url: string): Promise<void>;
  evaluate(work: Function | string, ...args: unknown[]): Promise<any>;
  becomes(work: Function | string, ...args: unknown[]): Promise<void>;
  upload(selector: string, files: string[]): Promise<void>;
  close(): Promise<void>;
}
export function launchWebKit(driver: string, options: { patience: number; sharedMemory?: boolean }): Promise<WebKit>;
