/** What is wrong with an entity or with the names and values it is made from. */
export type EntityErrorCode =
  /** No object, field, action or parameter has this name or id. */
  | "unknown-name"
  /** Several objects could be meant. */
  | "ambiguous-name"
  /** A value cannot be read, or has stray bits. */
  | "invalid-value"
  /** A value is too wide for its field. */
  | "out-of-range"
  /** Something obligatory is absent. */
  | "missing"
  /** Something is present that must not be. */
  | "unexpected";

/** An entity does not fit the program it is for. `where` names the object and field in the words of the program. */
export class EntityError extends Error {
  override readonly name = "EntityError";
  readonly code: EntityErrorCode;
  readonly where: string;

  constructor(code: EntityErrorCode, where: string, text: string) {
    super(`${where}: ${text}`);
    this.code = code;
    this.where = where;
  }
}
