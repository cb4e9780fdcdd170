import { type Chain, isChain, isToken, TOKENS } from "../../../catalogue/chains.ts";
import { operatorFile } from "../../../catalogue/operator-file.ts";
import { checkAddress } from "../check-address.ts";
import type { EvmChain, EvmSettings, TokenContract } from "./model.ts";
import { readSending } from "./send/load-sending.ts";
import { readSweeping } from "./sweep/load-sweeping.ts";
import { openWallet } from "./wallet.ts";

const FILE = operatorFile("The chains file");
const EVM_CHAINS: readonly Chain[] = ["polygon", "ethereum", "arbitrum", "base"];
const KEYS = ["xpub", "earlier_xpubs", "treasury", "chains"];
const EARLIER_MAX = 20;
const CHAIN_KEYS = [
  ...["chain_id", "network", "rpc_urls", "final_tag", "confirmations", "first_block", "tokens"],
  ...["other_tokens", "lag_max_minutes", "poll_seconds", "timeout_seconds"],
  ...["filtered_addresses_max", "sending", "sweeping"],
];
/** How the networks of well-known chain ids are called. */
const NETWORKS: Readonly<Record<number, string>> = {
  ...{ 1: "mainnet", 137: "mainnet", 42161: "mainnet", 8453: "mainnet" },
  ...{ 80002: "amoy", 11155111: "sepolia", 421614: "sepolia", 84532: "sepolia" },
};
const TOKEN_KEYS = ["address", "decimals"];
const RPC_URLS_MAX = 2;
const CONFIRMATIONS_MAX = 100_000;

/** Reads the operator's file of real chains (JSON text). */
export function loadChains(json_text: string): EvmSettings {
  const file = FILE.parse(json_text, KEYS);
  const xpub = readKey(file.xpub, "xpub");
  const earlier_xpubs = readEarlier(file.earlier_xpubs ?? [], "earlier_xpubs");
  const entries = Object.entries(FILE.asObject(file.chains, "chains"));
  if (entries.length === 0) throw FILE.wrong("chains", "must name at least one chain");
  const chains = entries.map(([name, value]) => readChain(name, value));
  const ids = chains.map(({ chain_id }) => chain_id);
  const twice = ids.find((id, at) => ids.indexOf(id) !== at);
  if (twice !== undefined) throw FILE.wrong("chains", `has two chains with chain_id ${twice}`);
  const treasury = file.treasury === undefined ? null : readAddress(file.treasury, "treasury");
  const sending = chains.find((chain) => chain.sending !== null);
  if (sending && treasury === null) {
    throw FILE.wrong("treasury", `must be the address that sends on ${sending.name}`);
  }
  return { xpub, earlier_xpubs, treasury, chains };
}

function readKey(value: unknown, path: string): string {
  const xpub = asText(value, path);
  try {
    openWallet(xpub);
    return xpub;
  } catch (error) {
    throw FILE.wrong(path, (error as Error).message);
  }
}

function readEarlier(value: unknown, path: string): string[] {
  if (!Array.isArray(value) || value.length > EARLIER_MAX) {
    throw FILE.wrong(path, `must list at most ${EARLIER_MAX} extended public keys`);
  }
  return value.map((one, at) => readKey(one, `${path}[${at}]`));
}

function readChain(name: string, value: unknown): EvmChain {
  const path = `chains.${name}`;
  if (!isChain(name) || !EVM_CHAINS.includes(name)) {
    throw FILE.wrong("chains", `has ${name}; it can have ${EVM_CHAINS.join(", ")}`);
  }
  const given = FILE.asObject(value, path, CHAIN_KEYS);
  const number = (key: string, min: number, max: number, otherwise?: number) =>
    asNumber(given[key] ?? otherwise, `${path}.${key}`, min, max);
  const final_tag = readTag(given.final_tag ?? null, `${path}.final_tag`);
  const confirmations = number("confirmations", 0, CONFIRMATIONS_MAX, 0);
  if (final_tag === null && confirmations === 0) {
    throw FILE.wrong(path, "must have a final_tag, a number of confirmations, or both");
  }
  const tokens = readContracts(given.tokens, `${path}.tokens`).map((token) => {
    if (isToken(token.name)) return { ...token, name: token.name };
    throw FILE.wrong(`${path}.tokens`, `has ${token.name}; it can have ${TOKENS.join(", ")}`);
  });
  if (tokens.length === 0) throw FILE.wrong(`${path}.tokens`, "must name at least one token");
  const other_tokens = readContracts(given.other_tokens ?? {}, `${path}.other_tokens`);
  const contracts = [...tokens, ...other_tokens].map(({ address }) => address);
  const twice = contracts.find((address, at) => contracts.indexOf(address) !== at);
  if (twice !== undefined) throw FILE.wrong(path, `has the contract ${twice} twice`);
  const credited = other_tokens.find((token) => isToken(token.name));
  if (credited) throw FILE.wrong(`${path}.other_tokens`, `cannot have ${credited.name}`);
  const chain_id = number("chain_id", 1, Number.MAX_SAFE_INTEGER);
  return {
    ...{ name, chain_id, network: readNetwork(given.network, `${path}.network`, chain_id) },
    rpc_urls: readUrls(given.rpc_urls, `${path}.rpc_urls`),
    final_tag,
    confirmations,
    first_block:
      given.first_block === undefined ? null : number("first_block", 0, Number.MAX_SAFE_INTEGER),
    tokens,
    other_tokens,
    lag_max_minutes: number("lag_max_minutes", 1, 10_080, 60),
    poll_seconds: number("poll_seconds", 0, 600, 4),
    timeout_seconds: number("timeout_seconds", 1, 60, 10),
    filtered_addresses_max: number("filtered_addresses_max", 0, 100_000, 2_000),
    ...readMoving(given, path),
  };
}

function readNetwork(value: unknown, path: string, chain_id: number): string {
  if (value === undefined) return NETWORKS[chain_id] ?? String(chain_id);
  return asText(value, path);
}

/** Whether tokens are sent, and deposits swept. */
function readMoving(
  { sending: sends, sweeping: sweeps }: Record<string, unknown>,
  path: string,
): Pick<EvmChain, "sending" | "sweeping"> {
  const sending = sends === undefined ? null : readSending(FILE, sends, `${path}.sending`);
  if (sweeps === undefined) return { sending, sweeping: null };
  return { sending, sweeping: readSweeping(FILE, sweeps, `${path}.sweeping`, sending) };
}

function readTag(value: unknown, path: string): EvmChain["final_tag"] {
  if (value === null || value === "finalized" || value === "safe") return value;
  throw FILE.wrong(path, "must be finalized or safe");
}

function readUrls(value: unknown, path: string): string[] {
  const urls = Array.isArray(value) ? value : [];
  // The URL may contain a key: it must not become part of the message.
  const is_url = (url: unknown) =>
    typeof url === "string" && /^https?:$/.test(URL.parse(url)?.protocol ?? "");
  const is_valid = urls.length > 0 && urls.length <= RPC_URLS_MAX && urls.every(is_url);
  if (is_valid && new Set(urls).size === urls.length) return urls;
  throw FILE.wrong(path, "must list one or two different http or https URLs");
}

function readContracts(value: unknown, path: string): TokenContract[] {
  return Object.entries(FILE.asObject(value, path)).map(([name, entry]) => {
    const at = `${path}.${name}`;
    const given = FILE.asObject(entry, at, TOKEN_KEYS);
    const address = readAddress(given.address, `${at}.address`);
    const decimals = asNumber(given.decimals, `${at}.decimals`, 0, 36);
    return { name, address, decimals };
  });
}

function readAddress(value: unknown, path: string): string {
  const address = checkAddress("ethereum", asText(value, path));
  if ("value" in address) return address.value;
  throw FILE.wrong(path, `is not an address. ${address.reason.replace(/\.$/, "")}`);
}

function asText(value: unknown, path: string): string {
  if (typeof value === "string" && value !== "") return value;
  throw FILE.wrong(path, "must be text");
}

function asNumber(value: unknown, path: string, min: number, max: number): number {
  if (Number.isInteger(value) && Number(value) >= min && Number(value) <= max) return Number(value);
  throw FILE.wrong(path, `must be a whole number from ${min} to ${max}`);
}
