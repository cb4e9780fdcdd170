import type { Command } from "commander";
import type { Core } from "../../app/open-core.ts";
import { minorDigits } from "../../catalogue/currencies.ts";
import { listStatements } from "../../partners/bank/file-bank/statements/statement-store.ts";
import { isId } from "../../platform/ids.ts";
import { minorToText, parseAmount } from "../../platform/money.ts";
import { StartupError } from "../../platform/startup-error.ts";
import { judgeStatements } from "../../reconcile/banks/judge-statements.ts";
import { treasuryChange } from "../../reconcile/treasury/book-treasury.ts";
import type { TreasuryBooking } from "../../reconcile/treasury/model.ts";
import { withCore } from "../context.ts";
import { changeByApproval, changeText, type Proposed } from "../operator.ts";
import { type JsonOption, print } from "../output.ts";

type OpenOptions = JsonOption & { amount?: string; reason: string };
type BookOptions = JsonOption & {
  line?: string[];
  deposit?: string[];
  as: string;
  reason: string;
};
type Booked = { booking: TreasuryBooking; proposal: Proposed };

const LINE_ID = /^line-(\d{1,18})$/;
const WHY = "the reason, for the audit log (no personal data)";

export function addTreasuryCommands(program: Command): void {
  const treasury = program
    .command("treasury")
    .description("book the operator's own money in bank accounts, as statements show it");

  treasury
    .command("open")
    .description("book the balance that a bank account had before its first statement")
    .argument("<bank_account>", "its name in the banks file")
    .option("--amount <amount>", "amount and currency, e.g. 1000:eur, if it has no statement yet")
    .requiredOption("--reason <reason>", WHY)
    .action(async (bank_account: string, options: OpenOptions) => {
      const done = await withCore(async (core) => {
        const found = await findOpenings(core, bank_account, options.amount);
        return bookAll(core, found, readReason(options));
      });
      print(options, { bookings: done }, done.map(describeBooked));
    });

  treasury
    .command("book")
    .description("book lines of statements, or deposits, as the operator's own money")
    .option("--line <id...>", "lines of statements, by their ids in sliproad banks list")
    .option("--deposit <id...>", "unmatched deposits that are the operator's own transfers")
    .option("--as <kind>", "with --line: transfer, or fee (also interest)", "transfer")
    .requiredOption("--reason <reason>", WHY)
    .action(async (options: BookOptions) => {
      const bookings = readBookings(options);
      const reason = readReason(options);
      const done = await withCore((core) => bookAll(core, bookings, reason));
      print(options, { bookings: done }, done.map(describeBooked));
    });
}

function readBookings({ line = [], deposit = [], ...given }: BookOptions): TreasuryBooking[] {
  const as = (["transfer", "fee"] as const).find((kind) => kind === given.as);
  if (as === undefined) throw new StartupError("--as must be transfer or fee.");
  if (line.length + deposit.length === 0) throw new StartupError("Name a --line or a --deposit.");
  const wrong = line.find((id) => !LINE_ID.test(id));
  if (wrong !== undefined) throw new StartupError(`There is no line ${wrong}.`);
  const strange = deposit.find((id) => !isId(id));
  if (strange !== undefined) throw new StartupError(`There is no deposit ${strange}.`);
  return [
    ...line.map((id) => ({ what: "line" as const, number: LINE_ID.exec(id)![1]!, as })),
    ...deposit.map((id) => ({ what: "deposit" as const, id })),
  ];
}

function readReason({ reason }: { reason: string }): string {
  if (reason.trim() === "") throw new StartupError("--reason must not be empty.");
  return reason;
}

/** One after the other: what is refused does not undo what was booked before. */
async function bookAll(
  core: Core,
  bookings: readonly TreasuryBooking[],
  reason: string,
): Promise<Booked[]> {
  const account_id = core.first_start.operator.id;
  const done: Booked[] = [];
  for (const input of bookings) {
    const asked = { account_id, input, is_operators: true, reason };
    done.push({ booking: input, proposal: await changeByApproval(core, treasuryChange, asked) });
  }
  return done;
}

/** The opening balances of the first statements, one for each currency; else what was given. */
async function findOpenings(
  { database }: Core,
  bank_account: string,
  given: string | undefined,
): Promise<TreasuryBooking[]> {
  if (!/^[a-z0-9]+(-[a-z0-9]+)*$/.test(bank_account)) {
    throw new StartupError(`${bank_account} is no name of a bank account.`);
  }
  const wanted = given === undefined ? null : readMoney(given);
  const pages = await listStatements(database, bank_account);
  const openings = [...Map.groupBy(pages, ({ currency }) => currency)].flatMap(
    ([currency, own]) => {
      const [first] = judgeStatements(own).statements;
      return first?.opening == null ? [] : [{ currency, amount: first.opening }];
    },
  );
  const stated = openings.filter(({ amount, currency }) => {
    if (wanted && wanted.currency === currency && wanted.amount !== amount) {
      const text = minorToText(amount, minorDigits(currency) ?? 2);
      throw new StartupError(`Its first statement opens with ${text} ${currency}.`);
    }
    return wanted ? wanted.currency === currency : amount !== 0n;
  });
  const chosen = stated.length > 0 ? stated : wanted ? [wanted] : [];
  if (chosen.length === 0) {
    throw new StartupError(`${bank_account} has no statement that opens with a balance.`);
  }
  return chosen.map(({ currency, amount }) => {
    return { what: "opening", bank_account, currency, amount: String(amount) };
  });
}

/** `1000:eur` */
function readMoney(text: string): { currency: string; amount: bigint } {
  const [amount_text, currency = ""] = text.split(":");
  const digits = minorDigits(currency);
  const amount = digits === undefined ? null : parseAmount(amount_text, digits);
  if (amount && "value" in amount) return { currency, amount: amount.value };
  throw new StartupError("--amount must be an amount and a currency, such as 1000:eur.");
}

function describeBooked({ booking, proposal }: Booked): string {
  const name =
    booking.what === "opening"
      ? `the opening balance of ${booking.bank_account} in ${booking.currency}`
      : booking.what === "line"
        ? `line-${booking.number}`
        : `deposit ${booking.id}`;
  return changeText(proposal, `Booked ${name}.`);
}
