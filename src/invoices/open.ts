import type { TokenPort } from "../accounts/authenticate.ts";
import type { ChainPort } from "../partners/chain/port.ts";
import type { Module, ModuleCore } from "../platform/module.ts";
import { addInvoicePages } from "./page-routes.ts";
import { createPdfRenderer } from "./pdf/renderer.ts";
import { createInvoiceRenderer, type InvoiceRenderer } from "./render.ts";
import { addInvoiceRoutes } from "./routes.ts";
import { invoiceTasks } from "./tasks.ts";

type InvoicesModule = Module & { renderer: InvoiceRenderer };

export function openInvoicesModule(
  core: ModuleCore,
  needs: { tokens: TokenPort; chain: ChainPort },
): InvoicesModule {
  const renderer = createInvoiceRenderer(core);
  const pdf_renderer = createPdfRenderer();
  const deps = { ...core, ...needs, renderer, pdf_renderer };
  return {
    renderer,
    routes: (addRoute) => addInvoiceRoutes(addRoute, deps),
    pages: (server) => addInvoicePages(server, deps),
    tasks: invoiceTasks(deps),
    close: pdf_renderer.close,
  };
}
