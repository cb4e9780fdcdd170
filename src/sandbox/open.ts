import type { InvoiceRenderer } from "../invoices/render.ts";
import type { OfframpRenderer } from "../offramps/render.ts";
import type { BankPort } from "../partners/bank/port.ts";
import type { ChainPort } from "../partners/chain/port.ts";
import type { Clock, SandboxClock } from "../platform/clock.ts";
import type { Module, ModuleCore } from "../platform/module.ts";
import { addCryptoTransferRoute } from "./crypto-transfer-route.ts";
import { addSandboxInvoiceRoute } from "./invoice-routes.ts";
import { addSandboxRoutes } from "./routes.ts";

type SandboxNeeds = {
  clock: Clock & SandboxClock;
  chain: ChainPort;
  bank: BankPort;
  offramps: { renderer: OfframpRenderer };
  invoices: { renderer: InvoiceRenderer };
};

/** Adds nothing in live mode. */
export function openSandboxModule(core: ModuleCore, needs: SandboxNeeds): Module {
  if (core.mode !== "sandbox") return {};
  const { clock, chain, bank, offramps, invoices } = needs;
  const { swift_clearance, deposit_tolerance, kyc_enforcement } = core.config;
  const settings = { swift_clearance, deposit_tolerance, kyc_enforcement };
  const deps = { ...core, ...settings, clock, chain, bank, renderer: offramps.renderer };
  return {
    routes: (addRoute) => {
      addSandboxRoutes(addRoute, deps);
      addSandboxInvoiceRoute(addRoute, { ...core, renderer: invoices.renderer });
      addCryptoTransferRoute(addRoute, core);
    },
  };
}
