import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createAccount } from "../../../src/accounts/create-account.ts";
import type { ReportDeps } from "../../../src/partners/bank/file-bank/apply-report.ts";
import { createFileBank } from "../../../src/partners/bank/file-bank/file-bank.ts";
import type {
  AchOrigination,
  FileBankAccount,
} from "../../../src/partners/bank/file-bank/model.ts";
import type { Instruction } from "../../../src/partners/bank/port.ts";
import type { Config } from "../../../src/platform/config/config.ts";
import type { Database } from "../../../src/platform/db/database.ts";
import { openInstallation } from "../../../src/platform/encryption/installation.ts";
import { createKeyring } from "../../../src/platform/encryption/keyring.ts";
import { openLocalKeys } from "../../../src/platform/encryption/local-keys.ts";
import { createTestDatabase } from "../../harness/database.ts";
import { closeAll, writeAllFiles } from "./write-all.ts";

export const MORNING = new Date("2026-11-16T07:00:00Z");
/** After the first and the second window of the day. */
export const AFTER_FIRST = new Date("2026-11-16T10:00:00Z");
export const AFTER_SECOND = new Date("2026-11-16T15:00:00Z");

export type FileBankFixture = Awaited<ReturnType<typeof openFileBankFixture>>;

/** A bank that takes files, with a directory instead of a bank. */
export async function openFileBankFixture(
  openAccounts: (directory: string) => FileBankAccount[] = (directory) => [bankAccount(directory)],
) {
  const db = await createTestDatabase();
  const { database } = db;
  const folder = await mkdtemp(join(tmpdir(), "bank-"));
  const encryption_key = randomBytes(32);
  const masters = openLocalKeys({ encryption_key } as Config);
  await openInstallation(database, masters, "sandbox", MORNING);
  const keyring = createKeyring(masters);
  const by = { actor: "command line", reason: "test" } as const;
  const account = await database.transaction((tx) =>
    createAccount(tx, keyring, { name: "test", is_operator: false, ...by }, MORNING),
  );
  const account_id = account.id;
  const accounts = openAccounts(folder);
  const deps: ReportDeps = {
    ...{ database, keyring, accounts, operator_id: account_id },
    index_key: Buffer.alloc(32, 1),
  };
  const state = { now: MORNING, submitted: 0 };
  const bankOf = (session: Database = database) =>
    createFileBank({ ...deps, database: session, clock: { now: () => state.now } as never });
  const clear = async () => {
    state.now = MORNING;
    await database.query(
      `truncate bank_files, bank_payments, bank_file_answers, bank_reports, bank_lines,
         bank_statements, bank_statement_entries, bank_unmatched_statuses, bank_traces,
         bank_ach_batches, bank_corrections, bank_set_aside, bank_returns`,
    );
  };
  return {
    database,
    database_url: db.url,
    encryption_key,
    deps,
    folder,
    account_id,
    state,
    bankOf,
    submit: (...instructions: Instruction[]) => bankOf().submit(instructions),
    /** Closes and writes what is due. */
    run: async (time: Date, session: Database = database) => {
      await closeAll({ ...deps, database: session }, time);
      await writeAllFiles({ ...deps, database: session }, time);
    },
    instruction: (change: Partial<Instruction> = {}): Instruction => {
      state.submitted += 1;
      return { ...sampleInstruction(account_id, state.submitted), ...change };
    },
    clear,
    /** The same, and an empty inbox: returns its path. */
    clearInbox: async () => {
      await clear();
      const inbox = join(folder, "inbox");
      await rm(inbox, { recursive: true, force: true });
      await mkdir(inbox);
      return inbox;
    },
    close: async () => {
      await db.drop();
      await rm(folder, { recursive: true });
    },
  };
}

export function bankAccount(directory: string): FileBankAccount {
  const schedule = {
    calendar: "target" as const,
    time_zone: "Europe/Vilnius",
    cut_offs: ["11:00", "15:30"],
    lead_days: 0,
  };
  const form = { is_batch_booked: false, address_form: "structured" as const };
  const common = { ...form, schedule, purposes: {}, intermediary_banks: {} };
  return {
    name: "main-eur",
    outbox: directory,
    booked_by: "camt.053",
    reference_days: 10,
    deposits: {
      ...{ currency: "eur", rails: ["local"], bank_name: "Sample Bank" },
      bank_address: "1 Sample Street, Vilnius",
    },
    debtor: { name: "Sample Ramp UAB", address: null },
    debtor_account: { iban: "LT069999900000012345" },
    debtor_bank: { bic: "SLIPLT21XXX" },
    routes: [
      { ...common, scheme: "sepa", charge_bearer: "SLEV", rail: "local", currencies: ["eur"] },
      { ...common, scheme: "swift", charge_bearer: "SHAR", rail: "swift", currencies: ["jpy"] },
    ],
  };
}

/** An account in the United States that pays by NACHA files, in the same windows. */
export function achAccount(
  directory: string,
  origination: Partial<AchOrigination> = {},
): FileBankAccount {
  const [sepa] = bankAccount(directory).routes;
  return {
    name: "main-usd",
    outbox: directory,
    booked_by: "camt.053",
    reference_days: 10,
    deposits: null,
    debtor: { name: "Sample Ramp Inc", address: null },
    debtor_account: { number: "9900012345" },
    debtor_bank: {
      ...{ clearing_system: "USABA", member_id: "021000021" },
      ...{ name: null, country: "US" },
    },
    routes: [
      {
        scheme: "ach",
        rail: "local",
        currencies: ["usd"],
        schedule: { ...sepa!.schedule, calendar: "federal_reserve", lead_days: 1 },
        origination: {
          destination: "021000021",
          destination_name: "SAMPLE BANK",
          origin: "1234567890",
          origin_name: "SAMPLE RAMP",
          company_name: "SAMPLE RAMP",
          company_id: "1234567890",
          description: "PAYOUT",
          originating_bank: "02100002",
          offset: null,
          is_booked_by_sum: false,
          ...origination,
        },
      },
    ],
  };
}

/** What an instruction to an account in the United States has. */
export const ACH_PAYEE = {
  currency: "usd",
  beneficiary: {
    account_name: "Maria Sample",
    beneficiary_type: "individual",
    routing_number: "011401533",
    account_number: "0012345678",
  },
  reference: null,
};

function sampleInstruction(account_id: string, number: number): Instruction {
  return {
    account_id,
    end_to_end_id: `${number.toString(16).padStart(32, "0")}001`,
    amount: 12_345n,
    currency: "eur",
    rail: "local",
    beneficiary: {
      account_name: "Maria Sample",
      iban: "DE89 3704 0044 0532 0130 00",
      address_line1: "12 Sample Street",
      city: "Lisbon",
      country: "PT",
      swift_bic: "deutdeff",
    },
    reference: "Invoice 17",
  };
}
