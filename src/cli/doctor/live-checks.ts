import { randomUUID } from "node:crypto";
import { open, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { listLiveProblems } from "../../app/live-settings.ts";
import { readCatalogue } from "../../app/open-core.ts";
import { PAYOUT_CURRENCIES } from "../../catalogue/currencies.ts";
import type { FileBankSettings } from "../../partners/bank/file-bank/model.ts";
import { readBanks } from "../../partners/bank/file-bank/open.ts";
import { withSftp } from "../../partners/bank/file-bank/transfer/sftp-session.ts";
import { Disagreement } from "../../partners/chain/evm/check-transfers.ts";
import type { EvmChain, EvmSettings } from "../../partners/chain/evm/model.ts";
import { openNodes } from "../../partners/chain/evm/open.ts";
import { readChains } from "../../partners/chain/evm/read-chains.ts";
import { checkConfiguredSigner } from "../../partners/chain/evm/signer/check-signer.ts";
import { SignerUnavailable } from "../../partners/chain/evm/signer/port.ts";
import { Misconfigured, verifyNodes } from "../../partners/chain/evm/verify-nodes.ts";
import { openWallet } from "../../partners/chain/evm/wallet.ts";
import { ChainUnavailable } from "../../partners/chain/port.ts";
import {
  isOpenToOthers,
  openRateSource,
  openTokenRateSource,
} from "../../partners/rates/open-rate-source.ts";
import type { RateSource } from "../../partners/rates/port.ts";
import type { Config } from "../../platform/config/config.ts";
import { MINUTE_MS } from "../../platform/durations.ts";
import { StartupError } from "../../platform/startup-error.ts";
import { readFees, readMarketRisk } from "../../prices/operator-files.ts";
import type { Finding } from "./finding.ts";

/** A node's last block is dated like this machine, unless one of them is wrong or stands still. */
const BLOCK_AGE_MAX_MS = 5 * MINUTE_MS;

/**
 * What live mode needs, asked of everybody that it needs it from: settings, keys, nodes, contracts,
 * directories, rates. Nothing is changed; the database is looked at by the other checks.
 */
export async function examineLive(config: Config): Promise<Finding[]> {
  const missing = listLiveProblems(config, { worker: true }).map(
    (finding): Finding => ({ check: "live settings", ok: false, finding }),
  );
  return [
    ...(missing.length > 0 ? missing : [{ check: "live settings", ok: true, finding: "complete" }]),
    ...(await checkDirectories(config)),
    ...(await checkSftp(config)),
    ...checkNodeUrls(config),
    ...(await checkNodes(config)),
    ...checkNetworkFees(config),
    ...checkSlippage(config),
    ...(await checkSigner(config)),
    ...(await checkRateSource(() => openRateSource(config), "rates source")),
    ...(await checkRateSource(() => openTokenRateSource(config), "token rates source")),
  ];
}

/** Writes into each of them, as the worker will. */
async function checkDirectories(config: Config): Promise<Finding[]> {
  const check = "directories";
  const folders = [...bankFolders(config)];
  if (config.restore_check_file !== undefined) folders.push(dirname(config.restore_check_file));
  if (folders.length === 0) return [];
  const problems: Finding[] = [];
  for (const folder of new Set(folders)) {
    const path = join(folder, `.sliproad-doctor-${randomUUID()}`);
    try {
      const file = await open(path, "wx", 0o600);
      await file.sync().finally(() => file.close());
      await rm(path);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      const finding = `${folder} cannot be written (${code}); give this user access to it`;
      problems.push({ check, ok: false, finding });
    }
  }
  if (problems.length > 0) return problems;
  return [{ check, ok: true, finding: `${[...new Set(folders)].join(", ")} can be written` }];
}

function bankFolders(config: Config): string[] {
  const settings = banksOf(config);
  if (!settings) return [];
  const own = settings.accounts.filter(({ server }) => !server);
  return [settings.inbox, ...own.map(({ outbox }) => outbox)];
}

function banksOf({ banks_file }: Config): FileBankSettings | null {
  return orNull(() => (banks_file === undefined ? null : readBanks(banks_file)));
}

/** Signs in to each server that files go to or come from, and looks into their directories. */
async function checkSftp(config: Config): Promise<Finding[]> {
  const settings = banksOf(config);
  if (!settings) return [];
  const places = [
    ...settings.accounts.map(({ server, outbox }) => ({ server, folder: outbox })),
    ...settings.sources.map(({ server, folder }) => ({ server, folder })),
  ];
  const findings: Finding[] = [];
  for (const { server, folder } of places) {
    if (!server) continue;
    const check = `sftp ${server.host}`;
    try {
      await withSftp(server, (session) => session.list(folder));
      findings.push({ check, ok: true, finding: `${folder} can be read as ${server.user}` });
    } catch (error) {
      const finding = `${folder}: ${(error as Error).message.replace(/\.$/, "")}`;
      findings.push({ check, ok: false, finding });
    }
  }
  return findings;
}

/** Nodes say what was paid in. A node of one's own without TLS is common, so it is a warning. */
function checkNodeUrls({ chains_file }: Config): Finding[] {
  const settings = orNull(() => (chains_file === undefined ? null : readChains(chains_file)));
  const urls = (settings?.chains ?? []).flatMap(({ rpc_urls }) => rpc_urls);
  const hosts = urls
    .map((url) => new URL(url))
    .filter(isOpenToOthers)
    .map(({ host }) => host);
  if (hosts.length === 0) return [];
  const finding =
    `${hosts.join(", ")}: asked without TLS; whoever is on the way could invent deposits. Use ` +
    "https, unless only you can reach that network";
  return [{ check: "nodes", ok: true, warning: true, finding }];
}

async function checkNodes({ chains_file }: Config): Promise<Finding[]> {
  const settings = orNull(() => (chains_file === undefined ? null : readChains(chains_file)));
  if (!settings) return [];
  return Promise.all(settings.chains.map((chain) => checkChain(settings, chain)));
}

/** What refunds and deliveries of onramps cost is the operator's, as long as no fee is set. */
function checkNetworkFees({ chains_file, catalogue_file }: Config): Finding[] {
  const settings = orNull(() => (chains_file === undefined ? null : readChains(chains_file)));
  // A file with a fault is reported where the others are checked.
  const catalogue = orNull(() => readCatalogue({ catalogue_file }));
  const free = (settings?.chains ?? [])
    .filter(({ name, sending }) => sending && catalogue?.network_fees[name] === 0n)
    .map(({ name }) => name);
  if (free.length === 0) return [];
  const finding =
    `${free.join(", ")}: network_fees of SLIPROAD_CATALOGUE_FILE is 0, so you pay the gas of ` +
    "every refund of one token, and of onramps however small";
  return [{ check: "network fees", ok: true, warning: true, finding }];
}

/**
 * Who pays for an onramp, or sends a document, only once the rate has moved to their advantage has
 * an option on it: it costs nothing as long as fee and spread do not cover the slippage.
 */
function checkSlippage(config: Config): Finding[] {
  const { rate_slippage_basis_points: slippage } = config;
  const fees = orNull(() => readFees(config));
  const risk = orNull(() => readMarketRisk(config));
  if (!fees || !risk) return [];
  const fee = Math.min(...Object.values(fees).map(({ basis_points }) => basis_points));
  // One usd for one token: that rate does not move.
  const moving = PAYOUT_CURRENCIES.filter((currency) => currency !== "usd");
  const covered = fee + Math.min(...moving.map(risk.spreadOf));
  if (slippage <= covered) return [];
  const finding =
    `SLIPROAD_RATE_SLIPPAGE_BASIS_POINTS is ${slippage}, but the lowest fee and spread are ` +
    `${covered}: whoever pays only when the rate has moved further gains the difference. Lower ` +
    "it, or set a spread in SLIPROAD_MARKET_RISK_FILE";
  return [{ check: "rate slippage", ok: true, warning: true, finding }];
}

/** Chain id and decimals of every contract, at every node; its clock; gas of the treasury. */
async function checkChain({ treasury }: EvmSettings, chain: EvmChain): Promise<Finding> {
  const check = `chain ${chain.name}`;
  try {
    const { rpcs } = openNodes(chain);
    await verifyNodes(chain, rpcs);
    for (const rpc of rpcs) {
      const block = await rpc.block("latest");
      const age_ms = block ? Math.abs(Date.now() - block.mined_at.getTime()) : 0;
      if (!block || age_ms > BLOCK_AGE_MAX_MS) {
        const age = block ? `${Math.round(age_ms / MINUTE_MS)} minutes from this clock` : "unknown";
        const finding = `the last block of ${rpc.host} is ${age}; check the node and the clock`;
        return { check, ok: true, warning: true, finding };
      }
    }
    const contracts = chain.tokens.map(({ name, address }) => `${name} ${address}`).join(", ");
    const gas = treasury ? await rpcs[0]!.nativeBalance(treasury) : 0n;
    if (chain.sending && gas < chain.sending.gas_floor) {
      const finding = `little native coin for gas (${gas} wei); send some to ${treasury}`;
      return { check, ok: true, warning: true, finding };
    }
    return { check, ok: true, finding: `chain id ${chain.chain_id}, ${contracts}` };
  } catch (error) {
    const kinds = [Misconfigured, ChainUnavailable, Disagreement];
    return { check, ok: false, finding: sentenceOf(error, kinds) };
  }
}

/** Whether the keys of the signer are those of the chains file. */
async function checkSigner(config: Config): Promise<Finding[]> {
  const check = "signer";
  const { chains_file, signer_address, signer_file } = config;
  const settings = orNull(() => (chains_file === undefined ? null : readChains(chains_file)));
  if (!settings || (signer_address === undefined && signer_file === undefined)) return [];
  try {
    const { treasury, wallet } = await checkConfiguredSigner(config);
    if (treasury !== settings.treasury) {
      const finding = `its treasury is ${treasury}, but the chains file has ${settings.treasury}`;
      return [{ check, ok: false, finding }];
    }
    if (wallet !== openWallet(settings.xpub).fingerprint) {
      const finding = "its key is not that of the chains file's xpub: it could not sweep deposits";
      return [{ check, ok: false, finding }];
    }
    if (signer_address !== undefined) return [{ check, ok: true, finding: `signs as ${treasury}` }];
    const finding =
      `signs as ${treasury}; its keys are in the worker: run sliproad signer as another user, ` +
      "and set SLIPROAD_SIGNER_ADDRESS";
    return [{ check, ok: true, warning: true, finding }];
  } catch (error) {
    return [{ check, ok: false, finding: sentenceOf(error, [SignerUnavailable, StartupError]) }];
  }
}

async function checkRateSource(
  openSource: () => RateSource | null,
  check: string,
): Promise<Finding[]> {
  const source = orNull(openSource);
  if (!source) return [];
  try {
    const { as_of, rates } = await source.read();
    const count = `${Object.keys(rates).length} rates`;
    if (as_of === null) return [{ check, ok: false, finding: `${count} without their time` }];
    const age_ms = Date.now() - as_of.getTime();
    const age = `${Math.round(age_ms / MINUTE_MS)} minutes old`;
    if (age_ms <= source.max_age_ms) return [{ check, ok: true, finding: `${count}, ${age}` }];
    const max = `${Math.round(source.max_age_ms / MINUTE_MS)} minutes`;
    return [{ check, ok: false, finding: `${count} are ${age}; the maximum is ${max}` }];
  } catch (error) {
    return [{ check, ok: false, finding: `${source.name}: ${(error as Error).message}` }];
  }
}

/** Null where the settings themselves are wrong: another check says so. */
function orNull<Value>(read: () => Value | null): Value | null {
  try {
    return read();
  } catch (error) {
    if (error instanceof StartupError) return null;
    throw error;
  }
}

function sentenceOf(
  error: unknown,
  kinds: readonly (abstract new (message: string) => Error)[],
): string {
  if (kinds.some((kind) => error instanceof kind)) {
    return (error as Error).message.replace(/\.$/, "");
  }
  throw error;
}
