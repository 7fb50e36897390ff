import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv, type ValidateFunction } from 'ajv';
import { parse } from 'yaml';

const SPECS = ['messaging-api', 'manage-audience', 'channel-access-token', 'insight', 'webhook'] as const;
export type Spec = (typeof SPECS)[number];

interface Operation {
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema?: object }>> };
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, { schema?: object }>> }>>;
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, { discriminator?: { mapping?: Readonly<Record<string, string>> } }>>;
  };
}

/** LINE's own description of its API. Every check returns what is wrong, an empty list if nothing is. */
export function loadOpenApi(folder: string) {
  // The files use words of OpenAPI that are none of JSON schema, and formats that only say how large a number may be.
  const ajv = new Ajv({ strict: false, validateFormats: false, allErrors: true });
  const documents = new Map<Spec, Document>();
  for (const spec of SPECS) {
    const document = parse(readFileSync(join(folder, `${spec}.yml`), 'utf8')) as Document;
    documents.set(spec, document);
    ajv.addSchema(document, spec);
  }
  const compiled = new Map<string, ValidateFunction>();
  const errors = (pointer: string, value: unknown): string[] => {
    const validate = compiled.get(pointer) ?? ajv.compile({ $ref: pointer });
    compiled.set(pointer, validate);
    if (validate(value)) return [];
    return (validate.errors ?? []).map(({ instancePath, message }) => `${pointer}: ${instancePath} ${message}`);
  };
  const operationOf = (spec: Spec, method: string, path: string) => {
    const operation = documents.get(spec)?.paths[path]?.[method.toLowerCase()];
    if (operation === undefined) throw new Error(`${spec} has no ${method} ${path}`);
    return { operation, pointer: `${spec}#/paths/${path.replaceAll('/', '~1')}/${method.toLowerCase()}` };
  };

  const bySchema = (spec: Spec, schema: string, value: unknown) =>
    errors(`${spec}#/components/schemas/${schema}`, value);
  return {
    /** The body of a request, or its form as an object. */
    request(spec: Spec, [method, path]: readonly [string, string], body: unknown): string[] {
      const { operation, pointer } = operationOf(spec, method, path);
      const [type] = Object.keys(operation.requestBody?.content ?? {});
      if (type === undefined) return body === undefined ? [] : [`${method} ${path} takes no body`];
      return errors(`${pointer}/requestBody/content/${type.replaceAll('/', '~1')}/schema`, body);
    },
    /** An answer; a status that the file does not list must be an error in LINE's usual shape. */
    answer(spec: Spec, [method, path]: readonly [string, string], { status, body }: { status: number; body: unknown }) {
      const { operation, pointer } = operationOf(spec, method, path);
      const described = operation.responses[String(status)];
      if (described === undefined) {
        return status < 400 ? [`${method} ${path} does not answer ${status}`] : bySchema(spec, 'ErrorResponse', body);
      }
      if (described.content === undefined) return errorsOfNothing(body);
      return errors(`${pointer}/responses/${status}/content/application~1json/schema`, body);
    },
    /** An object by the schema that its `type` selects, which the validator alone would not follow. */
    byType(spec: Spec, base: string, value: { readonly type: string }): string[] {
      const selected = documents.get(spec)?.components.schemas[base]?.discriminator?.mapping?.[value.type];
      if (selected === undefined) return [`${base} has no type ${value.type}`];
      return errors(`${spec}${selected}`, value);
    },
    bySchema,
  };
}

function errorsOfNothing(body: unknown): string[] {
  return JSON.stringify(body) === '{}' ? [] : ['the answer must be empty'];
}
