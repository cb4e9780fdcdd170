import { randomBytes } from "node:crypto";
import { mkdir, readdir, readFile, rename, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Database } from "../../src/platform/db/database.ts";
import { TEST_XPUB } from "./evm/chains-file.ts";
import { openSendingChain, type SendingChain } from "./evm/sending-chain.ts";

const EVERY_HOUR = Array.from({ length: 24 }, (_, hour) => `${String(hour).padStart(2, "0")}:59`);

/** The accounts of the live home: what its statements name. */
export const USD_ACCOUNT = { name: "main-usd", number: "9900012345" };
export const EUR_ACCOUNT = { name: "main-eur", iban: "LT069999900000012345" };

/** What lets a story run without members who review and vote. */
export const STORY_SETTINGS = {
  ...{ SLIPROAD_KYC_ENFORCEMENT: "off", SLIPROAD_DOCUMENTS: "never" },
  SLIPROAD_COOLING_OFF_HOURS: "0",
};

/** Ends the windows of all banks: their files are written now. */
export async function closeWindows(database: Database): Promise<void> {
  await database.query(
    "update bank_files set closes_at = closes_at - interval '40 days' where state = 'open'",
  );
}

/** The day on which banks book now. */
export function today(): string {
  return new Date().toISOString().slice(0, 10);
}

/** The files, the chain and the settings of an installation in live mode. */
export type LiveHome = {
  chain: SendingChain;
  /** Every setting that live mode needs; the database is the caller's. */
  environment: Record<string, string>;
  /** The files that banks can take, in order of their names. */
  sentFiles(): Promise<{ name: string; text: string }[]>;
  /** A file of a bank that it finished some time ago. */
  receiveFile(text: string, name?: string): Promise<void>;
  writeRates(rates: Record<string, string>, as_of?: Date): Promise<void>;
  close(): Promise<void>;
};

/** Everything that live mode needs: a chain, a signer, a bank by files, rates, keys and mail. */
export async function openLiveHome(): Promise<LiveHome> {
  const chain = await openSendingChain(TEST_XPUB);
  const { directory } = chain;
  const [inbox, outbox] = [join(directory, "bank-in"), join(directory, "bank-out")];
  await mkdir(inbox);
  await mkdir(outbox);
  const banks_file = join(directory, "banks.json");
  await writeFile(banks_file, JSON.stringify({ inbox, accounts: accountsOf(outbox) }));
  const rates_file = join(directory, "rates.json");
  const writeRates: LiveHome["writeRates"] = (rates, as_of = new Date()) =>
    writeFile(rates_file, JSON.stringify({ as_of: as_of.toISOString(), rates }));
  await writeRates({ eur: "0.86", jpy: "153" });
  const random = () => randomBytes(32).toString("base64");
  let received = 0;
  return {
    chain,
    environment: {
      ...chain.settings,
      SLIPROAD_MODE: "live",
      SLIPROAD_PUBLIC_URL: "https://ramp.example",
      SLIPROAD_ENCRYPTION_KEY: random(),
      SLIPROAD_SIGNING_KEY: random(),
      SLIPROAD_ADMIN_EMAIL: "operator@ramp.example",
      // Nobody listens: mail waits until the server answers.
      SLIPROAD_SMTP_URL: "smtp://127.0.0.1:9",
      SLIPROAD_SMTP_FROM: "Sliproad <no-reply@ramp.example>",
      SLIPROAD_RATES_FILE: rates_file,
      SLIPROAD_BANKS_FILE: banks_file,
      SLIPROAD_RESTORE_CHECK_FILE: join(directory, "restore-check.json"),
    },
    sentFiles: async () => {
      const names = (await readdir(outbox)).filter((name) => !name.startsWith(".")).sort();
      return Promise.all(
        names.map(async (name) => ({ name, text: await readFile(join(outbox, name), "utf8") })),
      );
    },
    receiveFile: async (text, name) => {
      received += 1;
      const path = join(inbox, `.${received}`);
      await writeFile(path, text);
      await utimes(path, new Date(0), new Date(0));
      await rename(path, join(inbox, name ?? `report-${received}.xml`));
    },
    writeRates,
    close: () => chain.close(),
  };
}

function accountsOf(outbox: string) {
  return {
    [EUR_ACCOUNT.name]: {
      holder: "Sample Ramp UAB",
      address: { line1: "1 Sample Street", town: "Vilnius", country: "LT" },
      iban: EUR_ACCOUNT.iban,
      bic: "SLIPLT21XXX",
      outbox,
      booked_by: "camt.054",
      routes: {
        sepa: { time_zone: "Europe/Vilnius", cut_offs: EVERY_HOUR },
        swift: { time_zone: "Europe/Vilnius", cut_offs: EVERY_HOUR, currencies: ["eur", "jpy"] },
      },
      deposits: {
        currency: "eur",
        rails: ["local"],
        bank_name: "Sample Bank",
        bank_address: "1 Sample Street, Vilnius",
      },
    },
    [USD_ACCOUNT.name]: {
      holder: "Sample Ramp Inc",
      account_number: USD_ACCOUNT.number,
      routing_number: "021000021",
      outbox,
      booked_by: "camt.054",
      routes: {
        ach: {
          ...{ time_zone: "America/New_York", cut_offs: EVERY_HOUR, bank_name: "SAMPLE BANK" },
          ...{ company_name: "SAMPLE RAMP", company_id: "1234567890" },
        },
      },
    },
  };
}
