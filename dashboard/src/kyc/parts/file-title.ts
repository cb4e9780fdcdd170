import { clearValue, type FileSlotName, type KycState } from "../state.ts";
import { texts } from "../texts.ts";

/** The requested file in words: a passport has a photo page and no sides. */
export function fileTitle(state: KycState, slot: FileSlotName): string {
  const is_business = state.beneficiary_type === "business";
  const type = clearValue(state, is_business ? "controller_document_type" : "document_type");
  const is_page = slot === "document_front" && type === "passport";
  return is_page ? texts.files.passport_page : texts.files.titles[slot];
}
