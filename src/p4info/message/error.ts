/** Why a message could not be made, written or read. */
export type MessageErrorCode =
  /** A value has the wrong type or does not fit its field. */
  | "invalid-value"
  /** The bytes are not an encoding of the message. */
  | "malformed"
  /** There are more fields in the bytes than are to be read. */
  | "too-many-fields"
  /** The text is not an encoding of the message; `line` and `column` say where. */
  | "syntax";

/** A protocol buffer message could not be made, written or read. */
export class MessageError extends Error {
  override readonly name = "MessageError";
  readonly code: MessageErrorCode;
  /** Full name of the message or path of the field that is at fault. */
  readonly where: string;
  /** Position in a text, counted from 1. */
  readonly line: number | undefined;
  readonly column: number | undefined;

  constructor(
    code: MessageErrorCode,
    where: string,
    text: string,
    position?: { line: number; column: number },
  ) {
    super(
      position === undefined ? `${where}: ${text}` : `${where}:${position.line}:${position.column}: ${text}`,
    );
    this.code = code;
    this.where = where;
    this.line = position?.line;
    this.column = position?.column;
  }
}
