// Builds the pages of dashboard/ with esbuild when they are absent or older than their sources;
// otherwise does nothing. Offline, under a second. Plain JavaScript for Node >= 20.
import { readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { brotliCompressSync, constants } from "node:zlib";
import { buildWhenStale, filesIn, isProgram, root, runBuild, runEsbuild } from "./stale-build.mjs";

const dashboard = join(root, "dashboard");
/** The dashboard uses the client's sources, which need no build. */
const sdk = join(root, "sdk", "src");

/** Each page is a folder of dashboard/src with an index.html, served under `base`. */
const PAGES = [
  { name: "kyc", base: "/assets/kyc/" },
  { name: "app", base: "/assets/dashboard/" },
];

/** The best compression takes seconds, for a few percent. */
const QUICK = { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } };

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
      ...(name === "app" ? filesIn(sdk).map((file) => join(sdk, file)) : []),
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
    conditions: ["sliproad-source"],
    plugins: [directImports],
  });
  const builtNames = new Map();
  for (const [path, { entryPoint }] of Object.entries(metafile.outputs)) {
    if (entryPoint) builtNames.set(basename(entryPoint), basename(path));
  }
  const document = html.replace(/"\.\/([a-z-]+\.(?:tsx?|css))"/g, (_, file) => {
    return `"${base}${builtNames.get(file)}"`;
  });
  writeFileSync(join(scratch, "index.html"), document);
  for (const file of filesIn(scratch).filter((path) => /\.(js|css)$/.test(path))) {
    const path = join(scratch, file);
    writeFileSync(`${path}.br`, brotliCompressSync(readFileSync(path), QUICK));
  }
}

/**
 * Imports from a package's index file as imports of the single modules: otherwise everything that
 * any page takes from the package is loaded with the first one.
 */
const directImports = {
  name: "direct-imports",
  setup(build) {
    build.onLoad({ filter: /dashboard[\\/]src[\\/]app[\\/].*\.tsx?$/ }, ({ path }) => {
      const text = readFileSync(path, "utf8");
      const pattern = /import \{([^}]+)\} from "(@mantine\/(?:core|hooks))";/g;
      const contents = text.replace(pattern, (_, names, name) => {
        const wanted = names.split(",").map((one) => one.trim());
        return wanted
          .filter((one) => one !== "" && !one.startsWith("type "))
          .map((one) => `import { ${one} } from ${JSON.stringify(moduleOf(name, one))};`)
          .join("\n");
      });
      return { contents, loader: path.endsWith("x") ? "tsx" : "ts" };
    });
  },
};

const modulesOf = new Map();

/** The file of a package that defines an export of its index file. */
function moduleOf(name, exported) {
  const index = join(root, "node_modules", name, "esm", "index.mjs");
  if (!modulesOf.has(name)) {
    const text = readFileSync(index, "utf8");
    const lines = [...text.matchAll(/import \{([^}]+)\} from "([^"]+)";/g)];
    const pairs = lines.flatMap(([, names, file]) =>
      names.split(",").map((one) => [one.trim(), join(dirname(index), file)]),
    );
    modulesOf.set(name, new Map(pairs));
  }
  return modulesOf.get(name).get(exported) ?? index;
}

if (isProgram(import.meta.url)) await runBuild(buildPages);
