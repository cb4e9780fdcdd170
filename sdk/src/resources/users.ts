import type { CallOptions } from "../api.ts";
import type { List } from "../list.ts";
import type { Answer, Body, Query, Schema } from "../types.ts";
import { Resource } from "./resource.ts";

export type User = Schema<"User">;
export type NewUser = Body<"post", "/users">["user"];
export type FrozenUser = Answer<"post", "/users/{user_id}/freeze">["user"];
export type Retention = Schema<"Retention">;
export type UserChanges = Body<"patch", "/users/{user_id}">["user"];

/** The payers of your account. */
export class Users extends Resource {
  async create(user: NewUser, options?: CallOptions): Promise<User> {
    return this.api.sendFor("user", "post", "/users", { body: { user } }, options);
  }

  async show(user_id: string, options?: CallOptions): Promise<User> {
    return this.api.sendFor("user", "get", "/users/{user_id}", { path: { user_id } }, options);
  }

  /** Identity fields only before approval; null clears one. */
  async update(user_id: string, user: UserChanges, options?: CallOptions): Promise<User> {
    const input = { path: { user_id }, body: { user } };
    return this.api.sendFor("user", "patch", "/users/{user_id}", input, options);
  }

  list(query: Query<"/users"> = {}, options?: CallOptions): List<User> {
    return this.api.list("/users", "users", { query }, options);
  }

  /** Nothing leaves for this user until they are unfrozen; for the operator's keys. */
  async freeze(user_id: string, reason: string, options?: CallOptions): Promise<FrozenUser> {
    const input = { path: { user_id }, body: { reason } };
    return this.api.sendFor("user", "post", "/users/{user_id}/freeze", input, options);
  }

  async unfreeze(user_id: string, reason: string, options?: CallOptions): Promise<FrozenUser> {
    const input = { path: { user_id }, body: { reason } };
    return this.api.sendFor("user", "post", "/users/{user_id}/unfreeze", input, options);
  }

  /** Erases the user, or deactivates it until nothing has to be kept any more. */
  async delete(user_id: string, options?: CallOptions): Promise<Retention> {
    const input = { path: { user_id } };
    return this.api.sendFor("retention", "delete", "/users/{user_id}", input, options);
  }

  /** Withdraws the request to erase a user. */
  async restore(user_id: string, options?: CallOptions): Promise<Retention> {
    const input = { path: { user_id } };
    return this.api.sendFor("retention", "post", "/users/{user_id}/restore", input, options);
  }

  /** What must be kept of the user, why and until when. */
  async retention(user_id: string, options?: CallOptions): Promise<Retention> {
    const input = { path: { user_id } };
    return this.api.sendFor("retention", "get", "/users/{user_id}/retention", input, options);
  }
}
