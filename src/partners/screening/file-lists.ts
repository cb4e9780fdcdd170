import { hash } from "node:crypto";
import { readdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type ListFile, readListFile } from "./lists/read-list-file.ts";
import {
  ALGORITHM_VERSION,
  createMatcher,
  type Matcher,
  type MatchThresholds,
} from "./matching/matcher.ts";
import type { ListEntry, ScreeningLists, ScreeningPort } from "./port.ts";

/** A list that has lost more than this share of its entries was probably cut short. */
const LOSS_MAX = 0.1;

type Loaded = {
  lists: ScreeningLists;
  entries: readonly ListEntry[];
  screen: Matcher;
  stamp: string;
};

/**
 * Screens against lists in files. They are read again when they have changed; a list that cannot be
 * read, or has lost a tenth of its entries, leaves the previous ones in use and is reported.
 */
export async function openFileLists(
  paths: readonly string[],
  thresholds: MatchThresholds,
): Promise<ScreeningPort> {
  let loaded = await load(paths, thresholds);
  let problem: string | null = null;
  let refused_stamp: string | null = null;
  return {
    lists: () => loaded.lists,
    screen: (person) => loaded.screen(person),
    // Asked rarely, so it needs no index.
    isListed: ({ list, id }) => loaded.entries.some((one) => one.id === id && one.list === list),
    problem: () => problem,
    reload: async () => {
      let stamp: string | null = null;
      try {
        stamp = await stampOf(paths);
        if (stamp === loaded.stamp) problem = null;
        // What was refused is not read again until it changes.
        if (stamp === loaded.stamp || stamp === refused_stamp) return false;
        const next = await load(paths, thresholds);
        assertNoLoss(loaded.lists, next.lists);
        const is_other = next.lists.version !== loaded.lists.version;
        loaded = next;
        problem = null;
        return is_other;
      } catch (error) {
        problem = (error as Error).message;
        refused_stamp = stamp;
        return false;
      }
    },
  };
}

async function load(paths: readonly string[], thresholds: MatchThresholds): Promise<Loaded> {
  const stamp = await stampOf(paths);
  const files: ListFile[] = [];
  for (const path of paths) files.push(await readListFile(path));
  const entries = files.flatMap((file) => file.entries);
  const digests = files.map(({ digest }) => digest).sort();
  const said = JSON.stringify([ALGORITHM_VERSION, thresholds, digests]);
  const lists = {
    version: hash("sha256", said, "base64url").slice(0, 22),
    entries: entries.length,
    files: files.map(({ entries: listed, ...file }) => ({ ...file, entries: listed.length })),
  };
  return { lists, entries, screen: createMatcher(entries, thresholds), stamp };
}

/** Sizes and times of the files, and of those beside them that belong to them. */
async function stampOf(paths: readonly string[]): Promise<string> {
  const all = await Promise.all(paths.map(withNeighbours));
  const stats = await Promise.all(
    [...new Set(all.flat())].sort().map(async (path) => {
      const { size, mtimeMs, ino } = await stat(path);
      return [path, size, mtimeMs, ino];
    }),
  );
  return JSON.stringify(stats);
}

async function withNeighbours(path: string): Promise<string[]> {
  if (!path.toLowerCase().endsWith(".csv")) return [path];
  const names = await readdir(dirname(path));
  const beside = names.filter((name) =>
    /^(cons_)?(alt|add|sdn_comments|comments)\.csv$/i.test(name),
  );
  return [path, ...beside.map((name) => join(dirname(path), name))];
}

function assertNoLoss(before: ScreeningLists, after: ScreeningLists): void {
  for (const { path, entries } of before.files) {
    const now = after.files.find((file) => file.path === path)?.entries ?? 0;
    if (now < entries * (1 - LOSS_MAX)) {
      throw new Error(
        `${path}: it has ${now} entries and had ${entries}; if this is right, restart Sliproad.`,
      );
    }
  }
}
