// A form out of a JSON Schema. The usual validator makes functions of texts, which the content policy forbids; this one
// interprets the schema.
import * as exact from "../api/exact";
import { Validator } from "@cfworker/json-schema";
import Form from "@rjsf/core";
import type { CustomValidator, ErrorSchema, FormValidation, RJSFSchema, RJSFValidationError, ValidationData, ValidatorType } from "@rjsf/utils";
import { toErrorList, unwrapErrorHandler, validationDataMerge, createErrorHandler } from "@rjsf/utils";
import { Button } from "../parts/Button";
import s from "./cards.module.css";

type Data = Record<string, unknown>;

/** As it would be sent, without what is undefined. Integers that do not fit a number are rounded: the validator knows no others. */
const without = (data: unknown): unknown => JSON.parse(exact.text(data ?? {}));

function errorsOf(schema: RJSFSchema, data: unknown): RJSFValidationError[] {
  const found = new Validator(schema as object, "2020-12", false).validate(without(data));
  return found.errors
    .filter((error) => !["properties", "items", "$ref", "allOf", "anyOf", "if"].includes(error.keyword))
    .map((error) => {
      const missing = error.keyword === "required" ? /"([^"]+)"/.exec(error.error)?.[1] : undefined;
      const path = error.instanceLocation.replace(/^#\/?/, "").split("/").filter(Boolean);
      if (missing) path.push(missing);
      const message = missing ? "is needed" : wrong(error.keyword, error.error);
      return { name: error.keyword, property: `.${path.join(".")}`, message, stack: message };
    });
}

const FORMATS: Record<string, string> = {
  email: "Write an e-mail address, such as ada@example.org", uri: "Write a whole address, such as https://example.org", url: "Write a whole address, such as https://example.org",
  date: "Write a day, such as 2026-11-18", "date-time": "Write a day and a time, such as 2026-11-18T09:00:00Z", time: "Write a time, such as 09:00:00Z",
};

/** What is wrong with a field, for whoever fills it in. */
function wrong(keyword: string, said: string): string {
  if (keyword === "format") return FORMATS[/"([^"]+)"/.exec(said)?.[1] ?? ""] ?? "This is not written as it should be";
  if (keyword === "minLength") return "This is too short";
  if (keyword === "maxLength") return "This is too long";
  if (keyword === "pattern") return "This is not written as it should be";
  if (keyword === "type") return "This is of the wrong kind";
  if (keyword === "enum" || keyword === "const") return "Choose one of those that are offered";
  return said.replace(/\.$/, "");
}

function tree(errors: RJSFValidationError[]): ErrorSchema<Data> {
  const root: Record<string, unknown> = {};
  for (const error of errors) {
    let at = root;
    for (const name of (error.property ?? "").split(".").filter(Boolean)) at = (at[name] ??= {}) as Record<string, unknown>;
    ((at.__errors ??= []) as string[]).push(error.message ?? "");
  }
  return root as ErrorSchema<Data>;
}

const validator: ValidatorType<Data> = {
  validateFormData(data, schema, customValidate?: CustomValidator<Data>): ValidationData<Data> {
    const errors = errorsOf(schema, data);
    const found = { errors, errorSchema: tree(errors) };
    if (!customValidate) return found;
    const handled = customValidate(data, createErrorHandler<Data>(data ?? {}) as FormValidation<Data>);
    return validationDataMerge(found, unwrapErrorHandler(handled));
  },
  isValid: (schema, data) => errorsOf(schema, data).length === 0,
  rawValidation: (schema: RJSFSchema, data?: Data) => ({ errors: errorsOf(schema, data) as never[] }),
  toErrorList,
} as ValidatorType<Data>;

type Props = { schema: Record<string, unknown>; values: Data; disabled: boolean; onChange(values: Data): void; onSubmit(values: Data): void };

export default function SchemaForm({ schema, values, disabled, onChange, onSubmit }: Props) {
  return (
    <Form<Data>
      className={s.form}
      schema={schema as RJSFSchema}
      validator={validator}
      formData={values}
      disabled={disabled}
      showErrorList={false}
      noHtml5Validate
      onError={() => undefined}
      onChange={(event) => onChange(event.formData ?? {})}
      onSubmit={(event) => onSubmit(exact.parse(exact.text(event.formData ?? {})) as Data)}
    >
      <Button look="primary" type="submit" disabled={disabled}>
        Send answer
      </Button>
    </Form>
  );
}
