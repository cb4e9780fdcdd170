import Type from "typebox";
import { closedObject } from "../../platform/schema-parts.ts";
import { CELL_LENGTH_MAX, CELL_NAMES, type CellName, ROWS_MAX } from "./model.ts";

const FILE_NAME_LENGTH_MAX = 200;
const Cell = Type.Optional(Type.String({ maxLength: CELL_LENGTH_MAX }));
const Cells = closedObject(
  Object.fromEntries(CELL_NAMES.map((name) => [name, Cell])) as Record<CellName, typeof Cell>,
);
const RowNumber = Type.Integer({ minimum: 1, maximum: 1_000_000 });

export const CreateBatchBody = closedObject({
  batch: closedObject({
    user_id: Type.String(),
    deposit_token: Type.String(),
    deposit_token_chain: Type.String(),
    file_name: Type.String({ minLength: 1, maxLength: FILE_NAME_LENGTH_MAX }),
    file_hash: Type.String({ pattern: "^[0-9a-f]{64}$" }),
    rows: Type.Array(closedObject({ n: RowNumber, cells: Cells }), {
      minItems: 1,
      maxItems: ROWS_MAX,
    }),
  }),
});

export const ChangeBatchBody = closedObject({
  batch: closedObject({
    is_file_acknowledged: Type.Optional(Type.Boolean()),
    rows: Type.Optional(
      Type.Array(
        closedObject({
          n: RowNumber,
          cells: Type.Optional(Cells),
          is_excluded: Type.Optional(Type.Boolean()),
          is_acknowledged: Type.Optional(Type.Boolean()),
        }),
        { maxItems: ROWS_MAX },
      ),
    ),
  }),
});

export const CreatePayoutsBody = closedObject({
  digest: Type.String({ pattern: "^[0-9a-f]{64}$" }),
});
