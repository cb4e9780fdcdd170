// Which Chromium the browser tests use: CHROMIUM_PATH, otherwise an installed Chromium or Chrome,
// otherwise the one from npm, which is built for linux-x64 only. Plain JavaScript for Node >= 20
// without packages.
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, join } from "node:path";

const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
const MAC_APPLICATIONS = [
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
];

/** `{ path }` of a program, `{ packaged: true }`, or null when there is none for this machine. */
export function findBrowser({ env = process.env, machine = defaultMachine() } = {}) {
  if (env.CHROMIUM_PATH) {
    if (isProgram(env.CHROMIUM_PATH)) return { path: env.CHROMIUM_PATH };
    throw new Error(`CHROMIUM_PATH names ${env.CHROMIUM_PATH}, which is no program.`);
  }
  const directories = (env.PATH ?? "").split(delimiter).filter((path) => path !== "");
  const candidates = directories.flatMap((path) => NAMES.map((name) => join(path, name)));
  if (machine.startsWith("darwin-")) candidates.push(...MAC_APPLICATIONS);
  const installed = candidates.find(isProgram);
  if (installed) return { path: installed };
  return machine === "linux-x64" ? { packaged: true } : null;
}

export const NO_BROWSER =
  "no Chromium was found: install one (on Debian: apt-get install chromium) or set CHROMIUM_PATH.";

function defaultMachine() {
  return `${process.platform}-${process.arch}`;
}

function isProgram(path) {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
