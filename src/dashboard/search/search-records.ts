import { readEmail } from "../../catalogue/text.ts";
import { openViews } from "../../invoices/counterparty/find-visible.ts";
import { listViews } from "../../invoices/counterparty/view-store.ts";
import { searchedWords } from "../../invoices/links.ts";
import { hashReference } from "../../offramps/model.ts";
import { offrampIdOf } from "../../offramps/payouts/model.ts";
import { hashPossiblePayees } from "../../payment-details/payee.ts";
import { FIRST_ID, isId, LAST_ID } from "../../platform/ids.ts";
import type { ModuleCore } from "../../platform/module.ts";
import { nameOfUser } from "../../users/model.ts";
import { hashUserEmail, listUsers, openUsers } from "../../users/store.ts";
import { describeRecords, type Hit } from "./describe-records.ts";
import { listByIds, listByPayee, listByReference, listPeopleByEmail } from "./store.ts";

export type SearchDeps = Pick<ModuleCore, "database" | "keyring" | "index_key">;

/** Everything that belongs to what was searched for, as a filter of the payouts. */
type Filter = { name: "reference" | "payee" | "user_id"; value: string };
type SearchResult = { hits: Hit[]; filters: Filter[]; people_searched: number };

const HITS_MAX = 8;
/** Names are stored encrypted: those of the newest people are read and compared. */
const PEOPLE_MAX = 200;
const ACCOUNT_DIGITS_MIN = 4;
const NAME_LENGTH_MIN = 2;

/** Looks for a text in every way in which it can name a record. */
export async function searchRecords(
  deps: SearchDeps,
  account_id: string,
  text: string,
): Promise<SearchResult> {
  const { database, index_key } = deps;
  const id = isId(text) ? text.toLowerCase() : offrampIdOf(text.toLowerCase());
  if (id !== null) {
    const found = await listByIds(database, account_id, [id]);
    return {
      hits: await describeRecords(deps, account_id, found),
      filters: [],
      people_searched: 0,
    };
  }
  const email = readEmail(text);
  if (email !== null) {
    const email_index = hashUserEmail(index_key, account_id, email);
    const people = await listPeopleByEmail(database, account_id, email_index);
    const filters = people.map(({ id: value }) => ({ name: "user_id" as const, value }));
    return { hits: await describeRecords(deps, account_id, people), filters, people_searched: 0 };
  }
  const digits = text.replace(/\D+/g, "").length;
  const payees =
    digits >= ACCOUNT_DIGITS_MIN ? hashPossiblePayees(index_key, account_id, text) : [];
  const reference = hashReference(index_key, account_id, text);
  const [payouts, details, named, invoices] = await Promise.all([
    listByReference(database, account_id, reference, HITS_MAX),
    listByPayee(database, account_id, payees, HITS_MAX),
    findNamed(deps, account_id, text),
    findInvoiced(deps, account_id, text),
  ]);
  const accounts = new Set(details.map(({ payee_index }) => payee_index.toString("hex")));
  const found = [...payouts, ...details.map(({ payee_index: _, ...detail }) => detail)];
  return {
    hits: [...(await describeRecords(deps, account_id, found)), ...named.hits, ...invoices],
    filters: [
      ...(payouts.length > 0
        ? [{ name: "reference" as const, value: reference.toString("hex") }]
        : []),
      ...[...accounts].map((value) => ({ name: "payee" as const, value })),
    ],
    people_searched: named.people_searched,
  };
}

/** The newest people in whose names all words begin a word. */
async function findNamed(
  { database, keyring }: SearchDeps,
  account_id: string,
  text: string,
): Promise<{ hits: Hit[]; people_searched: number }> {
  const words = wordsOf(text);
  if (text.length < NAME_LENGTH_MIN || words.length === 0) return { hits: [], people_searched: 0 };
  const page = { limit: PEOPLE_MAX - 1, below_id: LAST_ID, from_id: FIRST_ID };
  const rows = await listUsers(database, account_id, undefined, page);
  const people = await openUsers(database, keyring, rows);
  const hits = people
    .filter((user) => {
      const own = wordsOf(nameOfUser(user));
      return words.every((word) => own.some((one) => one.startsWith(word)));
    })
    .slice(0, HITS_MAX)
    .map((user) => ({
      ...{ kind: "person" as const, id: user.id, user_id: user.id },
      ...{ title: nameOfUser(user), note: user.identity.email ?? "" },
    }));
  return { hits, people_searched: people.length };
}

/** The newest invoices with all of these words, as their list finds them. */
async function findInvoiced(deps: SearchDeps, account_id: string, text: string): Promise<Hit[]> {
  const words = searchedWords(deps.index_key, account_id, text);
  const any = { statuses: [], overdue_at: null, role: null, format: null };
  const always = { created_from: null, created_to: null, updated_since: null };
  const page = { below_id: LAST_ID, skip: 0, limit: HITS_MAX - 1 };
  const views = await listViews(deps.database, account_id, { ...any, ...always, words }, page);
  return (await openViews(deps, views)).map(({ entry, role }) => {
    const { id, document } = entry.invoice;
    const party = role === "seller" ? document.buyerInfo : document.sellerInfo;
    const person = [party.firstName, party.lastName].filter(Boolean).join(" ");
    const note = party.businessName || person || (party.email ?? "");
    return { kind: "invoice", id, user_id: null, title: `Invoice ${document.invoiceNumber}`, note };
  });
}

/** In small letters, without accents. */
function wordsOf(text: string): string[] {
  const plain = text
    .normalize("NFKD")
    .replace(/\p{M}+/gu, "")
    .toLowerCase();
  return plain.split(/[^\p{L}\p{N}]+/u).filter(Boolean);
}
