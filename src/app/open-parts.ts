import { readFileSync } from "node:fs";
import { type FeeSchedule, loadFees } from "../catalogue/fees.ts";
import { createOfframpRenderer } from "../offramps/render.ts";
import type { BankPort } from "../partners/bank/port.ts";
import { createSandboxBank } from "../partners/bank/sandbox.ts";
import type { ChainPort } from "../partners/chain/port.ts";
import { createSandboxChain } from "../partners/chain/sandbox.ts";
import { openLocalDirectory } from "../partners/files/local-directory.ts";
import type { IdentityPort } from "../partners/identity/port.ts";
import { createReviewerIdentity } from "../partners/identity/reviewers.ts";
import { isLoopbackHost } from "../partners/outbound-http/address-policy.ts";
import { createGuardedSender } from "../partners/outbound-http/guarded-sender.ts";
import { openRateSource } from "../partners/rates/open-rate-source.ts";
import type { Config } from "../platform/config/config.ts";
import type { Database, Session } from "../platform/db/database.ts";
import { StartupError } from "../platform/startup-error.ts";
import type { TaskLog } from "../platform/tasks/task-log.ts";
import { openPrices } from "../prices/prices.ts";
import { usdValue } from "../prices/usd-value.ts";
import type { Core } from "./open-core.ts";

export type Partners = {
  chain: ChainPort;
  bank: BankPort;
  /** Without one, our own reviewers judge. */
  identity?: IdentityPort;
};

/** What quotes, offramps, onramps and their tasks work with. */
export async function openRamp(
  core: Core,
  partners: Partners,
  publicUrl: () => string,
  log: TaskLog,
) {
  const { config, database, catalogue, clock } = core;
  const source = openRateSource(config);
  const fees = readFees(config);
  const max_age_ms = config.rates_max_age_minutes * 60_000;
  const price_deps = { database, catalogue, source, fees, max_age_ms, log };
  const prices = await openPrices(price_deps, clock.now());
  return {
    ...core,
    ...partners,
    identity: partners.identity ?? createReviewerIdentity(),
    kyc_retention_days: config.kyc_retention_days,
    swift_clearance: config.swift_clearance,
    prices,
    fees,
    approvals: {
      limit_usd: config.approval_above_usd,
      usdValue: (session: Session) => usdValue(prices, session),
      keyring: core.keyring,
    },
    renderer: createOfframpRenderer(publicUrl, clock),
    operator_id: core.first_start.operator.id,
    kyc_enforcement: config.kyc_enforcement,
    policy: { kyc_enforcement: config.kyc_enforcement, documents: config.documents },
    deposit_tolerance: config.deposit_tolerance,
    quote_life_ms: config.quote_life_minutes * 60_000,
    allow_http: config.mode === "sandbox",
    is_sandbox: config.mode === "sandbox",
    files: await openLocalDirectory(config.data_dir),
    sender: openSender(config),
    bank_horizon_ms: config.bank_horizon_hours * 60 * 60 * 1000,
    log,
  };
}

/** Live mode has no partners yet: it must not start with the sandbox's. */
export function openPartners(config: Config, database: Database): Partners {
  if (config.mode === "live") {
    throw new StartupError(
      "Live mode needs adapters for a bank and a chain, which this version does not have; " +
        "use SLIPROAD_MODE=sandbox.",
    );
  }
  return { chain: createSandboxChain(database), bank: createSandboxBank(database) };
}

export function openSender(config: Config) {
  return createGuardedSender({
    allow_list: config.outbound_allow,
    allow_loopback: isLoopbackAllowed(config),
    proxy_url: config.outbound_proxy,
  });
}

/**
 * For whoever tries the sandbox on their own machine. A public URL or a proxy in front means that
 * others reach the service: their webhook URLs must not reach what listens beside it.
 */
function isLoopbackAllowed({ mode, host, public_url, trusted_proxies }: Config): boolean {
  const is_reached_by_others = public_url !== undefined || trusted_proxies.length > 0;
  return mode === "sandbox" && isLoopbackHost(host) && !is_reached_by_others;
}

function readFees(config: Config): FeeSchedule {
  if (config.fees_file === undefined) return loadFees();
  try {
    return loadFees(readFileSync(config.fees_file, "utf8"));
  } catch (error) {
    throw new StartupError(`SLIPROAD_FEES_FILE: ${(error as Error).message}`);
  }
}
