import { type Archive, readParts } from "./archive.ts";
import type { PartHead, Totals } from "./model.ts";

/** Called before each part, to report progress; `of` is null where nobody has counted. */
export type OnPart = (progress: { step: string; of: number | null }) => void;

type CheckOptions = {
  onPart: OnPart;
  /** Called with each part's head. */
  onHead?: (head: PartHead) => void;
};

/** Reads a whole backup and compares every sum; fails with a sentence if one differs. */
export async function checkContent(
  archive: Archive,
  key: Buffer,
  { onPart, onHead = () => {} }: CheckOptions,
): Promise<Totals> {
  let totals: Totals | undefined;
  const onTotals = (read: Totals) => {
    totals = read;
  };
  for await (const { head, content } of readParts(archive, key, onTotals)) {
    onPart({ step: "checks", of: null });
    onHead(head);
    for await (const _chunk of content);
  }
  return totals!;
}
