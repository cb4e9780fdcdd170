import { createHash, hash } from "node:crypto";
import type { PartHead, Sum } from "./model.ts";

type Summer = { add(chunk: Buffer): void; end(): Sum };

/** Computes what the content of this part is recognised by. */
export function openSum({ part }: PartHead): Summer {
  return part === "table" ? openRowSum() : openByteSum();
}

function openByteSum(): Summer {
  const sha256 = createHash("sha256");
  let bytes = 0;
  return {
    add: (chunk) => {
      bytes += chunk.length;
      sha256.update(chunk);
    },
    end: () => ({ bytes, rows: 0, digest: sha256.digest("hex") }),
  };
}

const LINE_END = 10;

/**
 * A sum over the rows of COPY's text format, in which a line end always ends a row. A table has no
 * order, so the digests of rows are added up: the same rows have the same sum in any order. It
 * finds mistakes; the encryption is what finds changes that somebody makes on purpose.
 */
function openRowSum(): Summer {
  let [bytes, rows, sum] = [0, 0, 0n];
  let begun: Buffer[] = [];
  const addRow = (row: Buffer) => {
    rows += 1;
    sum = BigInt.asUintN(64, sum + hash("sha256", row, "buffer").readBigUInt64BE());
  };
  return {
    add: (chunk) => {
      bytes += chunk.length;
      let start = 0;
      for (;;) {
        const end = chunk.indexOf(LINE_END, start);
        if (end < 0) break;
        const row = chunk.subarray(start, end);
        addRow(begun.length > 0 ? Buffer.concat([...begun, row]) : row);
        begun = [];
        start = end + 1;
      }
      if (start < chunk.length) begun.push(chunk.subarray(start));
    },
    end: () => {
      if (begun.length > 0) throw new Error("the last row of a table has no end");
      return { bytes, rows, digest: sum.toString(16).padStart(16, "0") };
    },
  };
}
