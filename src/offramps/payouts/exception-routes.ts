import Type from "typebox";
import { minorDigits } from "../../catalogue/currencies.ts";
import type { Database } from "../../platform/db/database.ts";
import { Refusal } from "../../platform/errors.ts";
import { cutPage, listAnswer, listQuery, readPage } from "../../platform/http/list.ts";
import { compileRender } from "../../platform/http/render.ts";
import type { AddRoute } from "../../platform/http/route.ts";
import { minorToText } from "../../platform/money.ts";
import { type BankException, listBankExceptions } from "./exception-store.ts";

const id = Type.String({ format: "uuid" });
const time = Type.String({ format: "date-time" });

const KINDS = ["suspense", "no_such_payment", "out_of_order", "conflict"] as const;

const BankExceptionRecord = Type.Object(
  {
    id,
    kind: Type.Enum([...KINDS], {
      description:
        "`suspense`: money came back that no sent payment matches, or more than was sent. " +
        "`no_such_payment`: the " +
        "end-to-end id is unknown. `out_of_order`: it contradicts an earlier answer. `conflict`: " +
        "the amount or currency differs from what was instructed.",
    }),
    answer: Type.Enum(["booked", "returned", "rejected"], { description: "What the bank said." }),
    account_id: id,
    offramp_id: Type.Union([id, Type.Null()]),
    end_to_end_id: Type.String(),
    bank_reference: Type.String(),
    amount: Type.Number(),
    currency: Type.String(),
    created_at: time,
    updated_at: time,
  },
  { title: "BankException" },
);
const BankExceptionsAnswer = listAnswer("bank_exceptions", BankExceptionRecord);
const BankExceptionListQuery = listQuery({});
const writeExceptions = compileRender(BankExceptionsAnswer);

/** The operator's list of bank answers that contradict what Sliproad knows. */
export function addExceptionRoutes(
  addRoute: AddRoute,
  { database, operator_id }: { database: Database; operator_id: string },
): void {
  addRoute({
    method: "GET",
    path: "/bank_exceptions",
    operation: "listBankExceptions",
    summary: "List bank exceptions",
    description:
      "Operator keys only. Answers of the bank that could not be applied to a payout, of all " +
      "accounts.",
    tag: "Deposits",
    query: BankExceptionListQuery,
    answer: BankExceptionsAnswer,
    errors: ["insufficient_scope"],
    handle: async ({ caller, query, problems }) => {
      const { page, problems: page_problems } = readPage(query);
      const found = [...problems, ...page_problems];
      if (found.length > 0) throw Refusal.of(found);
      if (caller.account_id !== operator_id) {
        throw new Refusal("insufficient_scope", "Only the operator's API keys can use this route.");
      }
      const { rows, has_more } = cutPage(await listBankExceptions(database, page), page);
      return writeExceptions({ bank_exceptions: rows.map(toRecord), has_more });
    },
  });
}

function toRecord({ created_at, amount, ...exception }: BankException) {
  const at = created_at.toISOString();
  // A bank may report any currency; most have two digits.
  const digits = minorDigits(exception.currency) ?? 2;
  const shown = Number(minorToText(amount, digits));
  return { ...exception, amount: shown, created_at: at, updated_at: at };
}
