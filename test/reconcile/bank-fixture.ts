import { mkdir, mkdtemp, readdir, readFile, rename, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { changeOrPropose } from "../../src/approvals/controlled-change.ts";
import { DAY_MS } from "../../src/platform/durations.ts";
import { Refusal } from "../../src/platform/errors.ts";
import { minorToText } from "../../src/platform/money.ts";
import { type ReconciledBank, reconcileBank } from "../../src/reconcile/banks/reconcile-bank.ts";
import { treasuryChange } from "../../src/reconcile/treasury/book-treasury.ts";
import type { TreasuryBooking } from "../../src/reconcile/treasury/model.ts";
import { startTestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";
import { advance, good, openStory, type Story, settle } from "../offramps/story.ts";
import { banksFile, SEPA_ACCOUNT } from "../partners/bank/banks-file.ts";

export const ACCOUNT = "main-eur";

/** A line as the bank has it. Signed cents. */
export type BankLine = { amount: bigint; reference: string; id?: string; more?: string };

export type BankDay = {
  id: string;
  /** YYYY-MM-DD */
  day: string;
  opening: bigint;
  lines: readonly BankLine[];
  closing?: bigint;
  page?: { number: number; is_last: boolean };
  sequence?: number;
};

export const closingOf = ({ opening, lines }: Pick<BankDay, "opening" | "lines">) =>
  lines.reduce((sum, { amount }) => sum + amount, opening);

function money(amount: bigint): string {
  const text = minorToText(amount < 0n ? -amount : amount, 2);
  const sign = amount < 0n ? "DBIT" : "CRDT";
  return `<Amt Ccy="EUR">${text}</Amt><CdtDbtInd>${sign}</CdtDbtInd>`;
}

function balance(type: string, amount: bigint, day: string): string {
  return (
    `<Bal><Tp><CdOrPrtry><Cd>${type}</Cd></CdOrPrtry></Tp>${money(amount)}` +
    `<Dt><Dt>${day}</Dt></Dt></Bal>`
  );
}

function entry({ amount, reference, id, more = "" }: BankLine, day: string): string {
  const refs = id ? `<Refs><EndToEndId>${id}</EndToEndId></Refs>` : "";
  return (
    `<Ntry>${money(amount)}<Sts><Cd>BOOK</Cd></Sts><BookgDt><Dt>${day}</Dt></BookgDt>` +
    `<AcctSvcrRef>${reference}</AcctSvcrRef><BkTxCd/>` +
    `<NtryDtls><TxDtls>${refs}${more}</TxDtls></NtryDtls></Ntry>`
  );
}

/** A day's statement. Pages between the first and the last have no balance. */
export function statementOf(one: BankDay, entries?: string): string {
  const { id, day, opening, lines, page, sequence } = one;
  const is_first = page === undefined || page.number === 1;
  const is_last = page === undefined || page.is_last;
  return (
    `<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt><Stmt>` +
    `<Id>${id}</Id>` +
    (page
      ? `<StmtPgntn><PgNb>${page.number}</PgNb><LastPgInd>${page.is_last}</LastPgInd></StmtPgntn>`
      : "") +
    (sequence === undefined ? "" : `<ElctrncSeqNb>${sequence}</ElctrncSeqNb>`) +
    `<Acct><Id><IBAN>${SEPA_ACCOUNT.iban}</IBAN></Id></Acct>` +
    (is_first ? balance("OPBD", opening, day) : "") +
    (is_last ? balance("CLBD", one.closing ?? closingOf(one), day) : "") +
    (entries ?? lines.map((line) => entry(line, day)).join("")) +
    `</Stmt></BkToCstmrStmt></Document>`
  );
}

/** A service with one account at a bank that takes files. */
export async function openBankFixture(more: Record<string, string> = {}) {
  const folder = await mkdtemp(join(tmpdir(), "sliproad-reconcile-"));
  const [inbox, outbox] = [join(folder, "in"), join(folder, "out")];
  await mkdir(inbox);
  await mkdir(outbox);
  const banks_file = join(folder, "banks.json");
  await writeFile(banks_file, banksFile(inbox, { [ACCOUNT]: { ...SEPA_ACCOUNT, outbox } }));
  const environment = { SLIPROAD_BANKS_FILE: banks_file, SLIPROAD_DOCUMENTS: "never", ...more };
  const server = await startTestServer({ environment });
  const { core } = server;
  const operator_id = core.first_start.operator.id;
  let files = 0;

  const receive = async (...texts: string[]) => {
    for (const text of texts) {
      files += 1;
      const path = join(inbox, `.${files}`);
      await writeFile(path, text);
      await utimes(path, new Date(0), new Date(0));
      await rename(path, join(inbox, `report-${String(files).padStart(4, "0")}.xml`));
    }
    await waitFor(async () => !(await readdir(inbox)).some((name) => name.endsWith(".xml")));
    await waitFor(isApplied);
    await settle(server);
  };

  /** What was read of the bank is in the books. */
  const isApplied = async () => {
    const rows = await core.database.query(
      `select from bank_lines l where l.state = 'credit' and not exists (
         select from fiat_deposits d where d.bank_reference = l.answer_references[1])
       union all
       select from bank_file_answers a where not exists (select from bank_answers b
         where b.account_id = a.account_id and b.bank_reference = a.bank_reference)`,
    );
    return rows.length === 0;
  };

  return {
    server,
    banks_file,
    operator_id,
    receive,
    setAside: () => readdir(join(inbox, "set-aside")),
    /** Payouts in a file that the bank has. */
    pay: async (...amounts: number[]): Promise<{ story: Story; id: string }[]> => {
      const paid: { story: Story; id: string }[] = [];
      for (const amount of amounts) {
        const story = await openStory(server, [{ amount }]);
        good(await story.execute());
        await story.waitForStatus("sending_fiat");
        paid.push({ story, id: `${story.offramp_id.replaceAll("-", "")}001` });
      }
      await settle(server);
      await advance(server, 5 * DAY_MS);
      await waitFor(async () => {
        const names = (await readdir(outbox)).filter((name) => !name.startsWith("."));
        const texts = await Promise.all(names.map((name) => readFile(join(outbox, name), "utf8")));
        return paid.every(({ id }) => texts.join("").includes(id));
      });
      return paid;
    },
    reconcile: async (): Promise<ReconciledBank> => {
      const found = await reconcileBank({ ...core, operator_id }, ACCOUNT);
      return found.find(({ currency }) => currency === "eur")!;
    },
    book: async (input: TreasuryBooking) => {
      const by = { actor: "command line", reason: "test" } as const;
      const asked = { account_id: operator_id, input, is_operators: true, by };
      try {
        return await core.database.transaction((tx) =>
          changeOrPropose(tx, core, treasuryChange, asked, core.clock.now()),
        );
      } catch (error) {
        throw error instanceof Refusal ? new Error(error.sentence) : error;
      }
    },
    close: async () => {
      await server.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export type BankFixture = Awaited<ReturnType<typeof openBankFixture>>;
