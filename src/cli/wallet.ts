import { rmSync } from "node:fs";
import { text } from "node:stream/consumers";
import type { Command } from "commander";
import {
  countAddresses,
  findAddressAt,
  findAddresses,
  SKIPPED,
} from "../partners/chain/evm/address-store.ts";
import { readChains } from "../partners/chain/evm/read-chains.ts";
import { createJournal } from "../partners/chain/evm/signer/journal.ts";
import { createKeystore } from "../partners/chain/evm/signer/keystore.ts";
import {
  ACCOUNT_PATH,
  openWallet,
  pathOf,
  TREASURY_PATH,
  treasuryOf,
  xpubOf,
} from "../partners/chain/evm/wallet.ts";
import { createWords, seedOf } from "../partners/chain/evm/words.ts";
import { readSettings } from "../platform/config/config.ts";
import { StartupError } from "../platform/startup-error.ts";
import { withCore } from "./context.ts";
import { type JsonOption, print } from "./output.ts";

const SKIPPED_MAX = 20_000;

type ShowOptions = JsonOption & { words?: boolean };

type KeystoreOptions = JsonOption & { keystore?: string };

const KEYSTORE_OPTION = [
  "--keystore <file>",
  "create the signer's files: the key, encrypted with SLIPROAD_SIGNER_PASSPHRASE, and beside it " +
    "an empty journal",
] as const;

export function addWalletCommands(program: Command): void {
  const wallet = program
    .command("wallet")
    .description("create and check the key from which deposit addresses are derived");
  addCreation(wallet);
  addReading(wallet);
}

function addCreation(wallet: Command): void {
  wallet
    .command("new")
    .description("create a key; its words are printed once and stored nowhere")
    .option(...KEYSTORE_OPTION)
    .action(async (options: KeystoreOptions) => {
      const { words, seed } = createWords();
      const files = await createFiles(options, seed);
      const facts = factsOf(seed);
      print(options, { words, ...facts, ...files }, [
        "Keep these words on paper, never on a server. Whoever has them can move all deposits;",
        "without them nobody can.",
        "",
        ...numbered(words),
        "",
        ...describeFacts(facts),
        "Compare it with what a wallet shows for these words before you use the key.",
        ...describeFiles(files),
      ]);
    });

  wallet
    .command("restore")
    .description("create the signer's keystore from the words of a key; reads them from stdin")
    .requiredOption(...KEYSTORE_OPTION)
    .action(async (options: KeystoreOptions) => {
      const seed = await readWords();
      const files = await createFiles(options, seed);
      const facts = factsOf(seed);
      print(options, { ...facts, ...files }, [...describeFacts(facts), ...describeFiles(files)]);
    });
}

function addReading(wallet: Command): void {
  wallet
    .command("show")
    .description("show the key of the chains file and how many addresses were issued")
    .option("--words", "read the words from stdin and check that they belong to the key")
    .action(async (options: ShowOptions) => {
      const { xpub } = configuredKey();
      const { fingerprint, addressAt } = openWallet(xpub);
      if (options.words) await checkWords(xpub);
      const issued = await withCore(({ database }) => countAddresses(database));
      const { addresses, last_index } = issued.find((one) => one.wallet === fingerprint) ?? {
        addresses: 0,
        last_index: null,
      };
      const earlier = issued.filter((one) => one.wallet !== fingerprint);
      const first_address = addressAt(0);
      const shown = { xpub, path: ACCOUNT_PATH, fingerprint, first_address };
      const last = last_index === null ? "" : `, the last ${pathOf(last_index)}`;
      const document = { wallet: { ...shown, addresses, last_index }, earlier };
      print(options, document, [
        `xpub ${xpub}`,
        `${ACCOUNT_PATH}, fingerprint ${fingerprint}`,
        `First address (${pathOf(0)}): ${first_address}`,
        `${addresses} addresses issued${last}.`,
        ...earlier.map((one) => `${one.addresses} addresses of an earlier key, ${one.wallet}.`),
        ...(options.words ? ["The words belong to this key."] : []),
      ]);
    });

  addAddressCommand(wallet);
  addSkipCommand(wallet);
}

function addAddressCommand(wallet: Command): void {
  wallet
    .command("address")
    .description("show an address by its index, or find the index of an address")
    .argument("<index>", "the index, e.g. 17, or an address, 0x…")
    .action(async (given: string, options: JsonOption) => {
      const { fingerprint, addressAt } = openWallet(configuredKey().xpub);
      const index = /^\d{1,10}$/.test(given) ? Number(given) : null;
      const issued = await withCore(async ({ database }) =>
        index === null
          ? (await findAddresses(database, [given.trim().toLowerCase()]))[0]
          : await findAddressAt(database, fingerprint, index),
      );
      if (index === null && !issued) {
        throw new StartupError(`${given} is not one of the addresses that were issued.`);
      }
      const address = issued?.address ?? derive(addressAt, index!);
      const path = pathOf(issued?.address_index ?? index!);
      const chain = issued?.chain ?? null;
      const created_at = issued?.created_at ?? null;
      const of = issued?.wallet ?? fingerprint;
      print(options, { address: { address, path, wallet: of, chain, created_at } }, [
        `${address}  ${path} of ${of}`,
        describeIssue(chain, created_at),
      ]);
    });
}

function describeIssue(chain: string | null, at: Date | null): string {
  if (chain === null) return "Not issued yet.";
  if (chain === SKIPPED) return `Skipped at ${at!.toISOString()}: it is never issued.`;
  return `Issued for ${chain} at ${at!.toISOString()}.`;
}

type SkipOptions = JsonOption & { reason: string };

function addSkipCommand(wallet: Command): void {
  wallet
    .command("skip")
    .description("never issue the next addresses: they were issued before, by a newer database")
    .argument("<count>", `how many, 1 to ${SKIPPED_MAX}`)
    .requiredOption("--reason <reason>", "the reason, for the audit log")
    .action(async (given: string, options: SkipOptions) => {
      const count = /^\d{1,5}$/.test(given) ? Number(given) : 0;
      if (count < 1 || count > SKIPPED_MAX) {
        throw new StartupError(`The number of addresses must be from 1 to ${SKIPPED_MAX}.`);
      }
      const wallet = openWallet(configuredKey().xpub);
      const { skipIndexes } = await import("./skip-indexes.ts");
      const next_index = await withCore((core) => skipIndexes(core, wallet, count, options.reason));
      print(options, { skipped: count, next_index }, [
        `Skipped ${count} addresses; the next index is ${next_index}. Transfers to those that were`,
        "skipped are listed by sliproad chains findings.",
      ]);
    });
}

type KeyFacts = { path: string; xpub: string; first_address: string; treasury: string };
type KeyFiles = { keystore: string; journal: string } | null;

function factsOf(seed: Uint8Array): KeyFacts {
  const xpub = xpubOf(seed);
  const first_address = openWallet(xpub).addressAt(0);
  return { path: ACCOUNT_PATH, xpub, first_address, treasury: treasuryOf(seed) };
}

function describeFacts({ xpub, first_address, treasury }: KeyFacts): string[] {
  return [
    `xpub of ${ACCOUNT_PATH}, for the chains file (SLIPROAD_CHAINS_FILE):`,
    xpub,
    "",
    `Treasury, from which tokens are sent (${TREASURY_PATH}): ${treasury}`,
    `First deposit address (${pathOf(0)}): ${first_address}`,
  ];
}

function describeFiles(files: KeyFiles): string[] {
  return files ? ["", `Created ${files.keystore} and ${files.journal}, for the signer only.`] : [];
}

/** Both or none: a keystore without its journal cannot be used. */
async function createFiles({ keystore }: KeystoreOptions, seed: Uint8Array): Promise<KeyFiles> {
  if (keystore === undefined) return null;
  const passphrase = readSettings(process.env).signer_passphrase;
  if (passphrase === undefined) {
    throw new StartupError("SLIPROAD_SIGNER_PASSPHRASE must be set: it encrypts the keystore.");
  }
  const journal = `${keystore}.journal`;
  try {
    createJournal(journal);
  } catch (error) {
    throw new StartupError(`${journal} cannot be created (${codeOf(error)}).`);
  }
  try {
    await createKeystore(keystore, seed, passphrase);
  } catch (error) {
    rmSync(journal);
    throw new StartupError(`${keystore} cannot be created (${codeOf(error)}).`);
  }
  return { keystore, journal };
}

function codeOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return code ?? message;
}

function configuredKey(): { xpub: string } {
  const { chains_file } = readSettings(process.env);
  if (chains_file !== undefined) return readChains(chains_file);
  throw new StartupError("SLIPROAD_CHAINS_FILE is not set: there is no wallet.");
}

function derive(addressAt: (index: number) => string, index: number): string {
  try {
    return addressAt(index);
  } catch (error) {
    throw new StartupError(`${(error as Error).message}.`);
  }
}

/** From stdin, so that they are in no shell history and no list of processes. */
async function readWords(): Promise<Uint8Array> {
  const seed = seedOf(await text(process.stdin));
  if (seed) return seed;
  throw new StartupError("These are not the words of a key; check them for a typo.");
}

async function checkWords(xpub: string): Promise<void> {
  const seed = await readWords();
  if (xpubOf(seed) === xpub) return;
  throw new StartupError("These words belong to another key than the one in the chains file.");
}

/** Four to a line, with their numbers. */
function numbered(words: readonly string[]): string[] {
  const cells = words.map((word, at) => `${String(at + 1).padStart(2)} ${word}`.padEnd(14));
  return Array.from({ length: Math.ceil(cells.length / 4) }, (_, line) =>
    cells
      .slice(line * 4, line * 4 + 4)
      .join("")
      .trimEnd(),
  );
}
