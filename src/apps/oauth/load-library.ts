type Library = typeof import("oidc-provider");

const NOTICE = /oidc-provider WARNING: Unsupported runtime/;

/**
 * The OAuth library, when the first request needs it. It warns of every Node release without long
 * term support, on the console, when it is loaded; our Node is pinned and tested, so that one line
 * is held back.
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
