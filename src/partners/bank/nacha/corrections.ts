/** What the payee's bank says is right; only what the code names. */
export type CorrectedData = {
  routing_number?: string;
  account_number?: string;
  account_type?: "checking" | "savings";
  name?: string;
  id?: string;
};

const ACCOUNT_TYPES: Readonly<Record<string, "checking" | "savings">> = {
  "22": "checking",
  "23": "checking",
  "27": "checking",
  "32": "savings",
  "33": "savings",
  "37": "savings",
};

/** How each change code divides its 29 characters. */
const READERS: Readonly<Record<string, (data: string) => CorrectedData | null>> = {
  C01: (data) => withAccount({}, data),
  C02: (data) => withRouting(data),
  C03: (data) => {
    const routing = withRouting(data.slice(0, 9));
    return routing && withAccount(routing, data.slice(9));
  },
  C04: (data) => (data.trim() === "" ? null : { name: data.trim() }),
  C05: (data) => withType({}, data.trim()),
  C06: (data) => {
    const split = splitLast(data);
    const account = split && withAccount({}, split[0]);
    return account && withType(account, split[1]);
  },
  C07: (data) => {
    const routing = withRouting(data.slice(0, 9));
    const split = splitLast(data.slice(9));
    const account = routing && split && withAccount(routing, split[0]);
    return account && withType(account, split[1]);
  },
  C09: (data) => (data.trim() === "" ? null : { id: data.trim() }),
};

/**
 * Reads the corrected data of a notification of change. Null if the code has none or it cannot be
 * read: then a person reads it.
 */
export function readCorrection(code: string, data: string): CorrectedData | null {
  return Object.hasOwn(READERS, code) ? READERS[code]!(data) : null;
}

function withRouting(data: string): CorrectedData | null {
  const routing_number = data.trim();
  return /^\d{9}$/.test(routing_number) ? { routing_number } : null;
}

function withAccount(found: CorrectedData, data: string): CorrectedData | null {
  const account_number = data.trim();
  return /^[A-Za-z0-9-]{1,17}$/.test(account_number) ? { ...found, account_number } : null;
}

function withType(found: CorrectedData, code: string): CorrectedData | null {
  const account_type = Object.hasOwn(ACCOUNT_TYPES, code) ? ACCOUNT_TYPES[code] : undefined;
  return account_type ? { ...found, account_type } : null;
}

/**
 * Account and transaction code: divided by blanks. An account of 17 characters can stand directly
 * before the code.
 */
function splitLast(data: string): [string, string] | null {
  const match = /^\s*(\S+)\s+(\d\d)\s*$/.exec(data) ?? /^(\S{17})(\d\d)\s*$/.exec(data.trimStart());
  return match ? [match[1]!, match[2]!] : null;
}
