import type { InvoiceRenderer } from "../invoices/render.ts";
import type { OfframpRenderer } from "../offramps/render.ts";
import type { BankPort } from "../partners/bank/port.ts";
import type { ChainPort } from "../partners/chain/port.ts";
import type { Clock, SandboxClock } from "../platform/clock.ts";
import { HOUR_MS } from "../platform/durations.ts";
import type { Module, ModuleCore } from "../platform/module.ts";
import type { CurrentPrices } from "../prices/price-book.ts";
import type { TravelDeps } from "../travel/record-travel.ts";
import { addCryptoTransferRoute } from "./crypto-transfer-route.ts";
import { addSandboxInvoiceRoute } from "./invoice-routes.ts";
import { addSandboxRoutes } from "./routes.ts";

type SandboxNeeds = {
  clock: Clock & SandboxClock;
  chain: ChainPort;
  bank: BankPort;
  prices: CurrentPrices;
  offramps: { renderer: OfframpRenderer };
  invoices: { renderer: InvoiceRenderer };
  travel: TravelDeps;
};

/** Adds nothing in live mode. */
export function openSandboxModule(core: ModuleCore, needs: SandboxNeeds): Module {
  if (core.mode !== "sandbox") return {};
  const { clock, chain, bank, prices, offramps, invoices, travel } = needs;
  const { swift_clearance, kyc_enforcement } = core.config;
  const { deposit_tolerance, deposit_in_time_percent } = core.config;
  const reroute_ms = core.config.reroute_hours * HOUR_MS;
  const { rate_slippage_basis_points, rate_hold_hours } = core.config;
  const rate_rules = { rate_slippage_basis_points, rate_hold_ms: rate_hold_hours * HOUR_MS };
  const funding = { deposit_tolerance, deposit_in_time_percent, reroute_ms, ...rate_rules };
  const settings = { swift_clearance, kyc_enforcement, ...funding };
  const { renderer } = offramps;
  const deps = { ...core, ...settings, clock, chain, bank, prices, travel, renderer };
  return {
    routes: (addRoute) => {
      addSandboxRoutes(addRoute, deps);
      addSandboxInvoiceRoute(addRoute, { ...core, renderer: invoices.renderer });
      addCryptoTransferRoute(addRoute, core);
    },
  };
}
