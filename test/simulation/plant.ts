import { registerHooks } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { BUGS } from "./planted-bugs.ts";

/* Loaded before everything else: changes one source file while it is read. */
const name = process.env.PLANTED_BUG;
const bug = BUGS.find((one) => one.name === name);
if (!bug) throw new Error(`there is no bug "${name}" to plant`);
const target = pathToFileURL(join(import.meta.dirname, "../..", bug.file)).href;
registerHooks({
  load: (url, context, nextLoad) => {
    const loaded = nextLoad(url, context);
    if (url !== target) return loaded;
    const source = String(loaded.source);
    if (source.split(bug.text).length !== 2) throw new Error(`${bug.name} cannot be planted`);
    return { ...loaded, source: source.replace(bug.text, () => bug.instead) };
  },
});
