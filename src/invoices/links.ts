import { createHash, randomBytes } from "node:crypto";
import { keyedHash } from "../platform/encryption/cipher.ts";
import type { Invoice } from "./model.ts";
import type { InvoiceKey } from "./store.ts";

export const REQUEST_ID = /^01[0-9a-f]{64}$/;
const NONCE_BYTES = 32;
const WORD_BYTES = 16;
const WORDS_MAX = 200;
/** Repeated ones included: an invoice may consist of a hundred thousand. */
const WORDS_READ_MAX = 2_000;
const WORD_LENGTH_MAX = 100;

/** 01 and the hash of the invoice's key and a nonce, so that it cannot be guessed. */
export function newRequestId({ account_id, id }: InvoiceKey): string {
  const hash = createHash("sha256").update(`${account_id}\n${id}\n`);
  return `01${hash.update(randomBytes(NONCE_BYTES)).digest("hex")}`;
}

/**
 * The token of an invoice's link. It is not stored but derived from the installation's key, so that
 * responses can always show the link; the database has only its hash.
 */
export function linkToken(index_key: Buffer, { account_id, id }: InvoiceKey): string {
  return keyedHash(index_key, "invoice link", account_id, id).toString("base64url");
}

export function hashLinkToken(index_key: Buffer, token: string): Buffer {
  return keyedHash(index_key, "invoice link token", token);
}

export function hashNumber(index_key: Buffer, account_id: string, number: string): Buffer {
  return keyedHash(index_key, "invoice number", account_id, number);
}

/** The words by which an account finds an invoice: of number, parties, tags and hashes. */
export function wordsOf(
  index_key: Buffer,
  account_id: string,
  { id, document, tracked }: Pick<Invoice, "id" | "document" | "tracked">,
): { account_id: string; word: Buffer; invoice_id: string }[] {
  const { buyerInfo, sellerInfo, invoiceNumber, purchaseOrderId = "", tags = [] } = document;
  const parties = [buyerInfo, sellerInfo].flatMap((party) => [
    ...[party.email, party.firstName, party.lastName, party.businessName],
  ]);
  const names = document.invoiceItems.map((item) => item.name);
  const hashes = tracked.map(({ tx_id }) => tx_id);
  const texts = [...hashes, invoiceNumber, purchaseOrderId, ...parties, ...tags, ...names];
  return hashWords(index_key, account_id, wordsInAll(texts)).map((word) => {
    return { account_id, word, invoice_id: id };
  });
}

/** The words of a search; each must be found. */
export function searchedWords(index_key: Buffer, account_id: string, search: string): Buffer[] {
  return hashWords(index_key, account_id, search.toLowerCase().split(/\s+/).filter(Boolean));
}

function* wordsInAll(texts: readonly (string | undefined)[]): Generator<string> {
  for (const text of new Set(texts)) if (text) yield* wordsIn(text);
}

/** Words between blanks, their parts and prefixes: INV-7-1 is found by INV-7, INV and 7. */
function wordsIn(text: string): string[] {
  const whole = text.toLowerCase().split(/\s+/);
  return whole.flatMap((word) => [word, ...piecesOf(word)]).filter(Boolean);
}

function piecesOf(word: string): string[] {
  const pieces = [...word.matchAll(/[\p{L}\p{N}]+/gu)];
  return pieces.flatMap(({ 0: piece, index }) => {
    const end = index + piece.length;
    // A longer prefix would be cut to the same word.
    return end > WORD_LENGTH_MAX ? [piece] : [piece, word.slice(0, end)];
  });
}

function hashWords(index_key: Buffer, account_id: string, words: Iterable<string>): Buffer[] {
  const cut = (word: string) => word.slice(0, WORD_LENGTH_MAX);
  const plain = new Set<string>();
  let left = WORDS_READ_MAX;
  for (const word of words) {
    // Cut before normalizing as well: one character may become eighteen.
    plain.add(cut(cut(word).normalize("NFKC")));
    left -= 1;
    if (left === 0 || plain.size === WORDS_MAX) break;
  }
  return [...plain].map((word) =>
    keyedHash(index_key, "invoice word", account_id, word).subarray(0, WORD_BYTES),
  );
}
