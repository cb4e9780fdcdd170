import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createJournal } from "../../../src/partners/chain/evm/signer/journal.ts";
import { openKeys } from "../../../src/partners/chain/evm/signer/keys.ts";
import { createKeystore } from "../../../src/partners/chain/evm/signer/keystore.ts";
import {
  loadSigner,
  type SignerSettings,
} from "../../../src/partners/chain/evm/signer/load-signer.ts";
import {
  createLocalSigner,
  type LocalSigner,
} from "../../../src/partners/chain/evm/signer/local-signer.ts";
import { seedOf } from "../../../src/partners/chain/evm/words.ts";
import { TEST_WORDS } from "./chains-file.ts";

export const TEST_PASSPHRASE = "a passphrase for tests";
/** Of TEST_WORDS. */
export const TEST_TREASURY = "0x78839f6054d7ed13918bae0473ba31b1ca9d7265";

export type SignerFiles = {
  directory: string;
  keystore: string;
  journal: string;
  close(): Promise<void>;
};

/** A keystore of TEST_WORDS and an empty journal. Creating one takes half a second. */
export async function createSignerFiles(): Promise<SignerFiles> {
  const directory = await mkdtemp(join(tmpdir(), "sliproad-signer-"));
  const keystore = join(directory, "keystore.json");
  const journal = `${keystore}.journal`;
  await createKeystore(keystore, seedOf(TEST_WORDS)!, TEST_PASSPHRASE);
  createJournal(journal);
  return { directory, keystore, journal, close: () => rm(directory, { recursive: true }) };
}

/** The text of the signer's file; each token has the same limits. */
export function signerFile(
  contracts: readonly string[],
  limits: { per_transaction_max?: string; per_day_max?: string; fee_max?: string } = {},
  journal = "keystore.json.journal",
  chain_ids: readonly number[] = [31_337],
): string {
  const { per_transaction_max = "1000", per_day_max = "5000", fee_max = "1" } = limits;
  const token = { decimals: 6, per_transaction_max, per_day_max };
  const tokens = Object.fromEntries(contracts.map((contract) => [contract, token]));
  const chain = { fee_max, top_up_max: "0.5", top_up_per_day_max: "2", tokens };
  const chains = Object.fromEntries(chain_ids.map((id) => [String(id), chain]));
  return JSON.stringify({ keystore: "keystore.json", journal, chains });
}

export function signerSettings(
  { directory }: { directory: string },
  ...file: Parameters<typeof signerFile>
): SignerSettings {
  return loadSigner(join(directory, "signer.json"), signerFile(...file));
}

/** A signer with limits that no test reaches and a journal of its own. */
export async function openTestSigner(contracts: readonly string[]): Promise<LocalSigner> {
  const directory = await mkdtemp(join(tmpdir(), "sliproad-signer-"));
  createJournal(join(directory, "journal"));
  const limits = { per_transaction_max: "1000000", per_day_max: "1000000", fee_max: "1" };
  const settings = signerSettings({ directory }, contracts, limits, "journal");
  const signer = await createLocalSigner(openKeys(seedOf(TEST_WORDS)!), settings, () => new Date());
  const close = async () => {
    await signer.close();
    await rm(directory, { recursive: true });
  };
  return { ...signer, close };
}
