import Type from "typebox";
import { isId } from "../platform/ids.ts";

/** For a list of all users that can also be one of a single user. */
export const BY_USER = { user_id: Type.Optional(Type.String({ maxLength: 100 })) };

/** No record is of a user with something else as its id. */
export function isOfUser({ user_id }: { user_id?: string }): boolean {
  return user_id === undefined || isId(user_id);
}
