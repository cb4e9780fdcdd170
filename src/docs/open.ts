import type { Module, ModuleCore } from "../platform/module.ts";
import { addDocPages } from "./routes.ts";

export function openDocsModule(core: ModuleCore): Module {
  return { pages: (server) => addDocPages(server, core) };
}
