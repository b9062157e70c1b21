// Addresses of models: which look as if they were in the office's own network. The server judges; this asks in time.
export const LOCAL = [
  { name: "Ollama", address: "http://127.0.0.1:11434/v1" },
  { name: "LM Studio", address: "http://127.0.0.1:1234/v1" },
  { name: "vLLM", address: "http://127.0.0.1:8000/v1" },
];

const NEAR = /^(localhost|127\.|10\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.|100\.(6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.|\[::1\]|\[f[cd])|\.(local|internal|localhost|home\.arpa)$/i;

export function originOf(address: string): string {
  try {
    return new URL(address.trim()).origin;
  } catch {
    return "";
  }
}

export function hostOf(address: string): string {
  return new URL(address).host;
}

export function isNear(address: string): boolean {
  try {
    const { hostname, port } = new URL(address.trim());
    return NEAR.test(hostname) || !/[.:]/.test(hostname) || (port !== "" && port !== "80" && port !== "443");
  } catch {
    return false;
  }
}
