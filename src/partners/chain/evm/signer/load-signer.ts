import { dirname, resolve } from "node:path";
import { operatorFile } from "../../../../catalogue/operator-file.ts";
import { parseDecimal, powerOfTen } from "../../../../platform/money.ts";
import { checkAddress } from "../../check-address.ts";

/** What the signer may sign on a chain; wei, and the tokens' smallest units. */
export type SignerChain = {
  chain_id: number;
  /** The most that one transaction may pay for gas. */
  fee_max: bigint;
  top_up_max: bigint;
  /** In 24 hours. */
  top_up_per_day_max: bigint;
  /** By contract. */
  tokens: ReadonlyMap<string, { per_transaction_max: bigint; per_day_max: bigint }>;
};

export type SignerSettings = {
  keystore: string;
  journal: string;
  chains: ReadonlyMap<number, SignerChain>;
};

const FILE = operatorFile("The signer's file");
const KEYS = ["keystore", "journal", "chains"];
const CHAIN_KEYS = ["fee_max", "top_up_max", "top_up_per_day_max", "tokens"];
const TOKEN_KEYS = ["decimals", "per_transaction_max", "per_day_max"];
const NATIVE_DECIMALS = 18;
const DECIMALS_MAX = 36;

/** Reads the signer's file (JSON text). Paths in it are relative to its directory. */
export function loadSigner(path: string, json_text: string): SignerSettings {
  const file = FILE.parse(json_text, KEYS);
  const pathOf = (name: string) => {
    const given = file[name];
    if (typeof given !== "string" || given === "") throw FILE.wrong(name, "must name a file");
    return resolve(dirname(path), given);
  };
  const entries = Object.entries(FILE.asObject(file.chains, "chains"));
  const chains = entries.map(([id, value]) => readChain(id, value));
  return {
    keystore: pathOf("keystore"),
    journal: pathOf("journal"),
    chains: new Map(chains.map((chain) => [chain.chain_id, chain])),
  };
}

function readChain(id: string, value: unknown): SignerChain {
  const path = `chains.${id}`;
  if (!/^[1-9]\d{0,14}$/.test(id)) throw FILE.wrong(path, "must be named by its chain_id");
  const given = FILE.asObject(value, path, CHAIN_KEYS);
  const native = (key: string) => readAmount(given[key], `${path}.${key}`, NATIVE_DECIMALS);
  const tokens = Object.entries(FILE.asObject(given.tokens, `${path}.tokens`)).map(
    ([contract, token]) => readToken(contract, token, `${path}.tokens.${contract}`),
  );
  return {
    chain_id: Number(id),
    fee_max: native("fee_max"),
    top_up_max: native("top_up_max"),
    top_up_per_day_max: native("top_up_per_day_max"),
    tokens: new Map(tokens),
  };
}

function readToken(contract: string, value: unknown, path: string) {
  const address = checkAddress("ethereum", contract);
  if ("reason" in address) throw FILE.wrong(path, "is not the address of a contract");
  const given = FILE.asObject(value, path, TOKEN_KEYS);
  const decimals = Number(given.decimals);
  if (!Number.isInteger(given.decimals) || decimals < 0 || decimals > DECIMALS_MAX) {
    throw FILE.wrong(`${path}.decimals`, `must be a whole number from 0 to ${DECIMALS_MAX}`);
  }
  const amount = (key: string) => readAmount(given[key], `${path}.${key}`, decimals);
  const limits = {
    per_transaction_max: amount("per_transaction_max"),
    per_day_max: amount("per_day_max"),
  };
  return [address.value, limits] as const;
}

/** Text, so that no digit is lost. */
function readAmount(value: unknown, path: string, decimals: number): bigint {
  const decimal = typeof value === "string" ? parseDecimal(value) : null;
  if (!decimal || decimal.units < 0n || decimal.scale > decimals) {
    throw FILE.wrong(path, `must be text such as "10.5", with at most ${decimals} decimals`);
  }
  return decimal.units * powerOfTen(decimals - decimal.scale);
}
