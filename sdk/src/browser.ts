/** A page, or a worker of one: its code and data can be read by its user. */
export function isBrowser(): boolean {
  const scope: { [name: string]: unknown } = globalThis as never;
  if ("window" in scope && "document" in scope) return true;
  return "WorkerGlobalScope" in scope && "importScripts" in scope && !isServer(scope);
}

/** Some server runtimes have workers that look like a browser's. */
function isServer(scope: { [name: string]: unknown }): boolean {
  const { process } = scope as { process?: { versions?: { node?: string } } };
  return "Deno" in scope || "Bun" in scope || process?.versions?.node !== undefined;
}
