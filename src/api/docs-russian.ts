import { toText } from '../core/messages/catalogue.ts'
import { problemsRu } from '../core/messages/problems-ru.ts'
import { ru } from '../core/messages/ru.ts'
import texts from './docs-russian.json' with { type: 'json' }

/** Russian by the English text: of the description's summaries, descriptions and tags, and of the pages of /docs. */
const russian: ReadonlyMap<string, string> = new Map(Object.entries(texts))

/** Descriptions of fields end with a shared unit, and those of refusals are a list of codes with their meanings. */
const joints =
  / (?=In roubles, with at most two decimals\.$|ISO 8601, UTC\.$|In GB of 10\^9 bytes\.$|`[a-z_]+`: )|(?<=`:) /

/** The texts with a translation of their own of which a text is made. */
export const partsOf = (english: string): string[] => (russian.has(english) ? [english] : english.split(joints))

/** A text in Russian. A part without a translation stays English; a test finds it. */
export const sayRussian = (english: string): string =>
  partsOf(english)
    .map((part) => russian.get(part) ?? part)
    .join(' ')

/** The members of a description that hold texts, and those that hold data, unless they are names of properties. */
const textMembers = new Set(['summary', 'description', 'tags'])
const dataMembers = new Set(['value', 'example', 'default', 'const'])

/** A copy of an OpenAPI document with its texts in Russian, as `say` gives them. */
export function toRussian(document: unknown, say: (english: string) => string = sayRussian): unknown {
  /** A node, the name of its member, and the name of the member around it. */
  const copy = (node: unknown, name: string, around: string): unknown => {
    const isText = textMembers.has(name) || (name === 'name' && around === 'tags')
    if (typeof node === 'string') return isText ? say(node) : node
    if (dataMembers.has(name) && around !== 'properties') return toRussianExample(node)
    if (Array.isArray(node)) return node.map((each) => copy(each, name, around))
    return mapMembers(node, (each, member) => copy(each, member, name))
  }
  return copy(document, '', '')
}

/** An example. Refusals and problems with fields have their sentences in Russian, as the shop sends them. */
function toRussianExample(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(toRussianExample)
  const sentences = toSentences(node)
  return mapMembers(node, (each, member) => sentences[member] ?? toRussianExample(each))
}

function toSentences(node: unknown): Readonly<Record<string, string>> {
  if (!isObject(node) || !('reason' in node && 'params' in node && isObject(node.params))) return {}
  const { reason, params } = node
  if ('message' in node && isKeyOf(ru, reason)) return { message: toText(ru, { reason, params }) }
  if ('problem' in node && isKeyOf(problemsRu, reason)) return { problem: toText(problemsRu, { reason, params }) }
  return {}
}

const isObject = (node: unknown): node is object => typeof node === 'object' && node !== null

const isKeyOf = <Catalogue extends object>(catalogue: Catalogue, key: unknown): key is keyof Catalogue & string =>
  typeof key === 'string' && Object.hasOwn(catalogue, key)

const mapMembers = (node: unknown, change: (value: unknown, name: string) => unknown): unknown =>
  isObject(node) ? Object.fromEntries(Object.entries(node).map(([name, each]) => [name, change(each, name)])) : node

/** Reads the description in Russian, which is made when the English one has changed. */
export function createRussianDescription(readEnglish: () => Promise<string>): () => Promise<string> {
  let made: { readonly english: string; readonly text: string } | undefined
  return async () => {
    const english = await readEnglish()
    if (made?.english !== english) made = { english, text: JSON.stringify(toRussian(JSON.parse(english))) }
    return made.text
  }
}
