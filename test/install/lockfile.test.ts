import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { isForMachine } from "../../scripts/check-native.mjs";

type Entry = {
  version: string;
  link?: boolean;
  integrity?: string;
  dev?: boolean;
  license?: string;
  optional?: boolean;
  engines?: { node?: string };
  os?: string[];
  cpu?: string[];
  libc?: string[];
  optionalDependencies?: Record<string, string>;
};

/**
 * The machines that `npm start` and `npm test` must work on; others work if the registry has them.
 */
const MACHINES = [
  { os: "linux", cpu: "x64", libc: "glibc" },
  { os: "linux", cpu: "arm64", libc: "glibc" },
  { os: "darwin", cpu: "arm64", libc: undefined },
  { os: "darwin", cpu: "x64", libc: undefined },
];

let packages: [string, Entry][];
beforeAll(async () => {
  const text = await readFile(join(import.meta.dirname, "../../package-lock.json"), "utf8");
  packages = Object.entries(JSON.parse(text).packages as Record<string, Entry>);
});

const isNative = ({ os, cpu }: Entry) => os !== undefined || cpu !== undefined;

/** The entry that a package at `from` resolves `name` to: the nearest one upwards. */
function resolve(from: string, name: string): Entry | undefined {
  const byPath = new Map(packages);
  const nearest = byPath.get(`${from}/node_modules/${name}`);
  return nearest ?? byPath.get(`node_modules/${name}`);
}

describe("the lockfile", () => {
  it("lists every package with its integrity", () => {
    const bare = packages.filter(([path, entry]) => {
      return path.includes("node_modules/") && !entry.link && !entry.integrity;
    });
    expect(bare.map(([path]) => path)).toEqual([]);
    expect(packages.length).toBeGreaterThan(100);
  });

  it.each(MACHINES)("has each native package's binary for $os-$cpu", (machine) => {
    const families = packages.filter(([path, { optionalDependencies = {} }]) =>
      Object.keys(optionalDependencies).some((name) => {
        const entry = resolve(path, name);
        return entry !== undefined && isNative(entry);
      }),
    );
    const incomplete = families.filter(([path, { optionalDependencies = {} }]) => {
      const entries = Object.keys(optionalDependencies).map((name) => resolve(path, name));
      const bindings = entries.filter((entry) => entry !== undefined && isNative(entry));
      // fsevents is needed on one system only, with no equivalent on the others.
      if (bindings.every((entry) => `${entry!.os}` === "darwin")) return false;
      return !bindings.some((entry) => isForMachine(entry!, machine));
    });
    expect(incomplete.map(([path]) => path)).toEqual([]);
    const names = families.map(([path]) => path);
    expect(names).toEqual(
      expect.arrayContaining(["node_modules/esbuild", "node_modules/rolldown", ""]),
    );
  });

  it("has no optional runtime package that npm on Node 20 would skip", () => {
    const newer = packages.filter(([, entry]) => {
      const range = entry.engines?.node;
      return entry.optional && !entry.dev && range !== undefined && !takesNode20(range);
    });
    expect(newer.map(([path, { engines }]) => `${path}: ${engines?.node}`)).toEqual([]);
  });
});

/** Ranges such as `>=18` or `^18.1 || >=20`: one alternative has to start at 20.0 or before. */
function takesNode20(range: string): boolean {
  return range.split("||").some((part) => {
    const [, sign, major, rest = ""] = /^\s*(>=|\^)?\s*(\d+)((?:\.\d+)*)/.exec(part) ?? [];
    if (sign === "^") return Number(major) === 20 && /^(\.0)*$/.test(rest);
    return Number(major) < 20 || (Number(major) === 20 && /^(\.0)*$/.test(rest));
  });
}

/** What may be used in a product that others run, sell and change. */
const LICENCES = [
  ...["MIT", "MIT-0", "ISC", "0BSD", "BSD-2-Clause", "BSD-3-Clause", "Apache-2.0", "Unlicense"],
  ...["Zlib", "CC0-1.0", "Python-2.0", "OFL-1.1", "BlueOak-1.0.0"],
  // Changes to their own files would have to be published; we change none.
  "MPL-2.0",
];
/** Their package.json names no licence; the file beside it is one of the above. */
const READ_BY_HAND: Readonly<Record<string, string>> = {
  "node_modules/buildcheck": "MIT",
  "node_modules/busboy": "MIT",
  "node_modules/cpu-features": "MIT",
  "node_modules/dejavu-fonts-ttf": "a permissive licence of fonts",
  "node_modules/dicer": "MIT",
  "node_modules/humanize-number": "MIT",
  "node_modules/only": "MIT",
  "node_modules/png-js": "MIT",
  "node_modules/requireg": "MIT",
  "node_modules/ssh2": "MIT",
  "node_modules/streamsearch": "MIT",
};

it("every package has a licence that allows what Sliproad's own licence allows", () => {
  const odd = packages
    .filter(([path, { link }]) => path !== "" && !link && !READ_BY_HAND[path])
    .filter(([, { license = "none" }]) => {
      const alternatives = license.replace(/[()]/g, "").split(/ or /i);
      return !alternatives.some((one) =>
        one.split(/ and /i).every((name) => LICENCES.includes(name)),
      );
    })
    .map(([path, { license }]) => `${path}: ${license}`);
  expect(odd).toEqual([]);
  const paths = new Set(packages.map(([path]) => path));
  expect(Object.keys(READ_BY_HAND).filter((path) => !paths.has(path))).toEqual([]);
});
