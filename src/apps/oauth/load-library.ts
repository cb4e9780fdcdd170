type Library = typeof import("oidc-provider");

const NOTICE = /oidc-provider WARNING: Unsupported runtime/;

/**
 * Loads the OAuth library, which takes long enough to be noticed. It prints a warning for every
 * Node release without long term support; our Node is pinned and tested, so that line is
 * suppressed.
 */
export async function loadLibrary(): Promise<Library> {
  const { warn } = console;
  console.warn = (...parts: unknown[]) => {
    if (!NOTICE.test(String(parts[0]))) warn.apply(console, parts);
  };
  try {
    return await import("oidc-provider");
  } finally {
    console.warn = warn;
  }
}
