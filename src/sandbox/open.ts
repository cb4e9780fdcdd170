import type { InvoiceRenderer } from "../invoices/render.ts";
import type { OfframpDeps } from "../offramps/open.ts";
import type { Clock, SandboxClock } from "../platform/clock.ts";
import type { Module, ModuleCore } from "../platform/module.ts";
import type { TravelDeps } from "../travel/record-travel.ts";
import { addCryptoTransferRoute } from "./crypto-transfer-route.ts";
import { addSandboxInvoiceRoute } from "./invoice-routes.ts";
import { addSandboxRoutes } from "./routes.ts";

type SandboxNeeds = {
  clock: Clock & SandboxClock;
  offramps: { deps: OfframpDeps };
  invoices: { renderer: InvoiceRenderer };
  travel: TravelDeps;
};

/** Adds nothing in live mode. */
export function openSandboxModule(
  core: ModuleCore,
  { clock, offramps, invoices, travel }: SandboxNeeds,
): Module {
  if (core.mode !== "sandbox") return {};
  const { swift_clearance, kyc_enforcement } = core.config;
  const deps = { ...offramps.deps, swift_clearance, kyc_enforcement, clock, travel };
  return {
    routes: (addRoute) => {
      addSandboxRoutes(addRoute, deps);
      addSandboxInvoiceRoute(addRoute, { ...core, renderer: invoices.renderer });
      addCryptoTransferRoute(addRoute, { ...core, chain: deps.chain });
    },
  };
}
