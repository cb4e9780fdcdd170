import type { Catalogue } from "../catalogue/catalogue.ts";
import type { FeeSchedule } from "../catalogue/fee-table.ts";
import type { Module, ModuleCore } from "../platform/module.ts";
import { feesPage } from "./reference/fees-page.ts";
import { paymentDetailsPage } from "./reference/payment-details-page.ts";
import { addDocPages } from "./routes.ts";

export function openDocsModule(
  core: ModuleCore,
  { catalogue, fees }: { catalogue: Catalogue; fees: FeeSchedule },
): Module {
  const ownTexts = () => ({
    "docs/reference/fees.md": feesPage(catalogue, fees),
    "docs/reference/payment-details.md": paymentDetailsPage(catalogue),
  });
  return { pages: (server) => addDocPages(server, core, ownTexts) };
}
