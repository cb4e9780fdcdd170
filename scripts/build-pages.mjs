// Builds the pages of dashboard/ with esbuild when they are absent or older than their sources;
// otherwise does nothing. Offline, under a second. Plain JavaScript for Node >= 20.
import { readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { buildWhenStale, filesIn, isProgram, root, runBuild, runEsbuild } from "./stale-build.mjs";

const dashboard = join(root, "dashboard");

/** Each page is a folder of dashboard/src with an index.html, served under `base`. */
const PAGES = [{ name: "kyc", base: "/assets/kyc/" }];

const TARGET = ["chrome100", "safari15.4", "firefox100"];

export async function buildPages() {
  await Promise.all(PAGES.map(buildPage));
}

function buildPage({ name, base }) {
  const source = join(dashboard, "src", name);
  return buildWhenStale({
    name: `the ${name} page`,
    inputs: [
      join(dashboard, "package.json"),
      join(root, "scripts", "build-pages.mjs"),
      ...filesIn(source).map((file) => join(source, file)),
    ],
    output: join(dashboard, "dist", name),
    entry: "index.html",
    build: (scratch) => buildInto(scratch, name, source, base),
  });
}

/** Writes the names that esbuild gave to the script and the style sheet into the document. */
async function buildInto(scratch, name, source, base) {
  const html = readFileSync(join(source, "index.html"), "utf8");
  const named = [...html.matchAll(/"\.\/([a-z-]+\.(?:tsx?|css))"/g)].map((match) => match[1]);
  const { metafile } = await runEsbuild(`the ${name} page`, {
    entryPoints: named.map((file) => join(source, file)),
    entryNames: "[name]-[hash]",
    assetNames: "[name]-[hash]",
    chunkNames: "[name]-[hash]",
    outdir: scratch,
    target: TARGET,
    jsx: "automatic",
    splitting: true,
    legalComments: "none",
    define: { "process.env.NODE_ENV": '"production"' },
  });
  const builtNames = new Map();
  for (const [path, { entryPoint }] of Object.entries(metafile.outputs)) {
    if (entryPoint) builtNames.set(basename(entryPoint), basename(path));
  }
  const document = html.replace(/"\.\/([a-z-]+\.(?:tsx?|css))"/g, (_, file) => {
    return `"${base}${builtNames.get(file)}"`;
  });
  writeFileSync(join(scratch, "index.html"), document);
}

if (isProgram(import.meta.url)) await runBuild(buildPages);
