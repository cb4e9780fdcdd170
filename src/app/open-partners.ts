import { isSaidHeld } from "../accounts/audited/payout-holds.ts";
import type { ChainTokens, Served } from "../catalogue/catalogue.ts";
import { CHAINS, TOKENS } from "../catalogue/chains.ts";
import { findStoppedPayouts } from "../offramps/payouts/find-stopped-payouts.ts";
import { findLineFreeze } from "../onramps/deposits/store.ts";
import { combineBanks, type PartialBank } from "../partners/bank/combine-banks.ts";
import { openFileBanks, readBanks } from "../partners/bank/file-bank/open.ts";
import { listReturnedDeposits } from "../partners/bank/file-bank/returns/return-store.ts";
import type { FindStopped } from "../partners/bank/file-bank/submit-payments.ts";
import type { BankPort } from "../partners/bank/port.ts";
import { createSandboxBank } from "../partners/bank/sandbox.ts";
import { combineChains } from "../partners/chain/combine-chains.ts";
import { readChains } from "../partners/chain/evm/read-chains.ts";
import type { AskOwner, ChainPort } from "../partners/chain/port.ts";
import { createSandboxChain } from "../partners/chain/sandbox.ts";
import { createHttpDocuments } from "../partners/documents/http.ts";
import type { DocumentSource } from "../partners/documents/port.ts";
import { createSandboxDocuments } from "../partners/documents/sandbox.ts";
import { createClamdScan } from "../partners/files/clamd.ts";
import type { FileScan } from "../partners/files/file-store.ts";
import { openHold } from "../partners/hold/open.ts";
import type { IdentityPort } from "../partners/identity/port.ts";
import type { Leaving } from "../partners/leaving.ts";
import {
  createGuardedSender,
  type GuardedSender,
} from "../partners/outbound-http/guarded-sender.ts";
import { openFileLists } from "../partners/screening/file-lists.ts";
import { SCREENING_OFF } from "../partners/screening/off.ts";
import type { ScreeningPort } from "../partners/screening/port.ts";
import type { Config, Mode } from "../platform/config/config.ts";
import type { Module } from "../platform/module.ts";
import { StartupError } from "../platform/startup-error.ts";
import type { TaskLog } from "../platform/tasks/task-log.ts";
import { findRequestedOutcomes } from "../sandbox/find-requested-outcomes.ts";
import { isPrivate } from "./is-private.ts";
import type { Core } from "./open-core.ts";

export type Partners = {
  chain: ChainPort;
  bank: BankPort;
  /** Without one, our own reviewers decide. */
  identity?: IdentityPort;
  /** Reads real chains in the background. */
  openWatcher?: ((log: TaskLog, askOwner: AskOwner) => Module) | undefined;
  /** Writes and reads the files of real banks. */
  openBanks?: ((log: TaskLog) => Module) | undefined;
  /** What they serve; without it, all of the catalogue. */
  served?: Served;
  /** Whether money may leave; without it, it always may. */
  hold?: Awaited<ReturnType<typeof openHold>>;
};

/**
 * The adapters of the settings. In sandbox mode, what is not configured is simulated; in live mode
 * nothing is, so what no adapter serves is not offered.
 */
export async function openPartners(core: Core): Promise<Partners> {
  const hold = await openHold({
    ...core,
    restore_check_file: core.config.restore_check_file,
    installation_id: core.first_start.operator.id,
    isSaidHeld: () => isSaidHeld(core.database, core.first_start.operator.id),
  });
  const held = { ...core, leaving: hold.gate };
  const [banks, chains] = [openBanks(held), await openChains(held)];
  if (core.config.mode === "live") {
    if (!banks.real || !chains.real) throw new Error("live mode needs a bank and a chain");
    const real = { bank: banks.real, chain: chains.real.chain };
    return { ...toPartners(banks, chains, real), hold };
  }
  const simulated_bank = createSandboxBank(
    core,
    findRequestedOutcomes(core.database, core.keyring),
  );
  const simulated_chain = createSandboxChain(core);
  const combined = {
    bank: banks.real ? combineBanks(banks.real, simulated_bank) : simulated_bank,
    chain: chains.real ? combineChains(chains.real.chain, simulated_chain) : simulated_chain,
  };
  return { ...toPartners(banks, chains, combined), hold };
}

type HeldCore = Core & { leaving: Leaving };
type Banks = { real: PartialBank | null } & Pick<Partners, "openBanks">;
type Chains = {
  real: { chain: ChainPort; tokens: Partial<ChainTokens>; networks: Served["networks"] } | null;
} & Pick<Partners, "openWatcher">;

function toPartners(
  { real: real_bank, openBanks }: Banks,
  { real: real_chain, openWatcher }: Chains,
  { bank, chain }: { bank: BankPort; chain: ChainPort },
): Partners {
  const is_simulated = bank !== real_bank;
  const tokens = Object.fromEntries(
    CHAINS.map((name) => {
      const simulated = chain.simulated.includes(name) ? TOKENS : [];
      return [name, real_chain?.tokens[name] ?? simulated];
    }),
  ) as unknown as ChainTokens;
  return {
    ...{ bank, chain, openBanks, openWatcher },
    served: {
      tokens,
      networks: (!is_simulated && real_chain?.networks) || {},
      pays: (currency, rail) => is_simulated || real_bank!.serves({ currency, rail }),
      receives: (currency, rail) =>
        chain.sending.length > 0 && bank.coordinatesFor(currency, rail) !== null,
    },
  };
}

/** Imported only where there are real chains: else nothing of it is needed. */
async function openChains(core: HeldCore): Promise<Chains> {
  const { config } = core;
  if (config.chains_file === undefined) return { real: null, openWatcher: undefined };
  const settings = readChains(config.chains_file);
  const [{ openEvm }, { openConfiguredSigner }] = await Promise.all([
    import("../partners/chain/evm/open.ts"),
    import("../partners/chain/evm/signer/open.ts"),
  ]);
  const { chain, openModule } = await openEvm(core, settings, () => openConfiguredSigner(config));
  const tokens = Object.fromEntries(
    settings.chains.map((one) => [one.name, one.tokens.map(({ name }) => name)]),
  );
  const networks = Object.fromEntries(settings.chains.map((one) => [one.name, one.network]));
  return { real: { chain, tokens, networks }, openWatcher: openModule };
}

export function openBanks(core: HeldCore): Banks {
  const { banks_file } = core.config;
  if (banks_file === undefined) return { real: null, openBanks: undefined };
  const operator_id = core.first_start.operator.id;
  const { kyc_enforcement } = core.config;
  const findStopped: FindStopped = async (tx, payments) => {
    const payouts = await findStoppedPayouts(tx, { kyc_enforcement }, payments);
    const ids = payments.map(({ end_to_end_id }) => end_to_end_id);
    for (const { end_to_end_id, ...line } of await listReturnedDeposits(tx, ids)) {
      // A deposit of somebody who is frozen is not sent back either.
      if (await findLineFreeze(tx, { account_id: operator_id, ...line }))
        payouts.add(end_to_end_id);
    }
    return payouts;
  };
  const deps = { ...core, operator_id, findStopped };
  const { bank, openModule } = openFileBanks(deps, readBanks(banks_file));
  return { real: bank, openBanks: openModule };
}

/** The check of uploads for malware; undefined: there is none. */
export function openScan({ clamd }: Config): FileScan | undefined {
  if (clamd === undefined) return undefined;
  if (clamd.startsWith("/")) return createClamdScan({ path: clamd });
  const [host, port] = clamd.split(":");
  return createClamdScan({ host: host!, port: Number(port) });
}

/** The sanctions lists; a list that cannot be read stops the start. */
export async function openScreening(config: Config): Promise<ScreeningPort> {
  const { screening_lists, screening_possible_percent, screening_match_percent } = config;
  if (screening_lists.length === 0) return SCREENING_OFF;
  const thresholds = {
    possible_match: screening_possible_percent / 100,
    match: screening_match_percent / 100,
  };
  try {
    return await openFileLists(screening_lists, thresholds);
  } catch (error) {
    throw new StartupError(`SLIPROAD_SCREENING_LISTS: ${(error as Error).message}`);
  }
}

export function openSender(config: Config) {
  return createGuardedSender({
    allow_list: config.outbound_allow,
    // For trying the sandbox on one's own machine. Where others reach the service, their webhook
    // URLs must not reach other services on this machine.
    allow_loopback: isPrivate(config),
    proxy_url: config.outbound_proxy,
  });
}

/** The source of documents that are named by a URL. */
export function openDocuments(mode: Mode, sender: GuardedSender): DocumentSource {
  const internet = createHttpDocuments(sender);
  return mode === "sandbox" ? createSandboxDocuments(internet) : internet;
}
