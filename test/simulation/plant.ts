import { registerHooks } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { BUGS, changesOf } from "./planted-bugs.ts";

/* Loaded before everything else: changes one source file while it is read. */
const name = process.env.PLANTED_BUG;
const bug = BUGS.find((one) => one.name === name);
if (!bug) throw new Error(`there is no bug "${name}" to plant`);
const changes = new Map(
  changesOf(bug).map((change) => [
    pathToFileURL(join(import.meta.dirname, "../..", change.file)).href,
    change,
  ]),
);
registerHooks({
  load: (url, context, nextLoad) => {
    const loaded = nextLoad(url, context);
    const change = changes.get(url);
    if (!change) return loaded;
    const source = String(loaded.source);
    if (source.split(change.text).length !== 2) throw new Error(`${bug.name} cannot be planted`);
    return { ...loaded, source: source.replace(change.text, () => change.instead) };
  },
});
