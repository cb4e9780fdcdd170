import type { Metadata } from "../catalogue/metadata.ts";
import type { OfframpRule } from "./change-offramps.ts";
import { advanceOfframp } from "./record-changes.ts";

/** Undefined leaves a field as it is. */
export type OfframpEdit = { reference?: string | null; metadata?: Metadata };

/** Reference and metadata may change until the deposit is confirmed. */
export const updateOfframps: OfframpRule<OfframpEdit, null> = {
  name: "update-offramps",
  load: async () => null,
  decide: (entry, { input }, _extra, now) => {
    const { offramp } = entry;
    if (offramp.status !== "initiated") {
      const message = "Only an offramp with the status initiated can be changed.";
      return { problems: [{ field: "offramp_id", code: "offramp_not_editable", message }] };
    }
    const { reference = offramp.details.reference, metadata = offramp.details.metadata } =
      input.requested;
    const details = { ...offramp.details, reference, metadata };
    return { value: advanceOfframp(entry, { details }, now) };
  },
  record: () => {},
};
