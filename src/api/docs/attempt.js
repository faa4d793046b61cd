import { codeBlock, copyButton, el, literal } from './elements.js'
import { follow, learn, realOnly, withReal } from './learned.js'
import { say } from './messages.js'
import { samples } from './samples.js'
import { allowedOf, exampleOf, givenExample, plain, resolve } from './schema.js'

const answerWithinMs = 30_000
const shownHeaders = [
  'X-Request-Id',
  'Idempotent-Replayed',
  'RateLimit-Limit',
  'RateLimit-Remaining',
  'RateLimit-Reset',
  'Retry-After',
]

/** A new idempotency key. `randomUUID` would need HTTPS. */
const freshKey = () =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('')

export function tryPanel(operation, success) {
  const curl = el('pre', { class: 'code curl', tabindex: '0', 'aria-label': say('The request as a curl command') })
  const outcome = { line: el('p', { class: 'result', role: 'status' }), rest: el('div') }
  const inputs = [
    ...operation.parameters.map((parameter) => parameterInput(operation, parameter)),
    ...(operation.body ? [bodyInput(operation)] : []),
  ]
  const form = el('form', { class: 'try', 'aria-label': say('Try {}', operation.id) }, [
    inputs.map((each) => each.row),
    el('button', { class: 'send' }, say('Send')),
    el('p', { class: 'note' }, notes(operation)),
  ])
  const example = givenExample(resolve(success).content?.['application/json'])
  const write = () => {
    curl.textContent = toCurl(readRequest(operation, form))
  }
  form.addEventListener('input', write)
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    if (operation.isDestructive && !confirm(warningOf(operation))) return
    void send(operation, form, outcome, example)
  })
  follow(() => {
    for (const each of inputs) offer(each)
    write()
  })
  write()
  return el('div', { class: 'panel' }, [
    el('h3', {}, say('Try it')),
    form,
    el('div', { class: 'caption' }, el('h3', {}, 'curl'), copyButton(curl)),
    curl,
    operation.isForTokens && samples(operation),
    el('div', { class: 'outcome' }, outcome.line, outcome.rest),
    example !== undefined && [
      el('h3', {}, say('Example answer')),
      codeBlock(JSON.stringify(example, null, 2), say('Example answer')),
    ],
  ])
}

/** Puts what is known by now into a field, unless a person has written there. */
function offer({ input, start }) {
  if (!start || input.value !== input.defaultValue) return
  input.defaultValue = start()
  input.value = input.defaultValue
}

const isKey = (parameter) => parameter.in === 'header' && parameter.name.toLowerCase() === 'idempotency-key'

/** The word about the token is shown by the style as long as there is none. */
const notes = (operation) => [
  operation.needsToken && el('span', { class: 'token-wanted' }, say('Enter your token at the top of the page first. ')),
  operation.mayCharge && say('This sends a real request, which may charge your balance.'),
  operation.isDestructive &&
    say('This operation cannot be undone. Enter the ids to apply it to; you confirm before it is sent.'),
]

const warningOf = (operation) =>
  say('{} cannot be undone. Send it?', `${operation.method.toUpperCase()} ${operation.path}`)

/** A required parameter starts with its example. An optional one only hints at it. */
function parameterInput(operation, parameter) {
  const schema = plain(parameter.schema)
  const id = `docs-${operation.id}-${parameter.in}-${parameter.name}`
  const name = `${parameter.in}:${parameter.name}`
  const example = parameter.example ?? exampleOf(schema)
  const allowed = allowedOf(schema) ?? (schema.type === 'boolean' ? [true, false] : undefined)
  const sample = parameter.required ? (example ?? allowed?.[0]) : undefined
  // Which subscription may be left out while there is one; who has bought another through this page need not choose.
  const isOffered = parameter.required || parameter.name === 'uuid'
  const offered = () => {
    if (operation.isDestructive) return String(sample ?? '')
    const real = parameter.required ? withReal(parameter.name, idOf(sample)) : realOnly(parameter.name, example)
    return String(real ?? '')
  }
  const start = isKey(parameter) ? freshKey() : isOffered ? offered() : ''
  const placeholder = example === undefined ? undefined : say('e.g. {}', example)
  const isNumber = schema.type === 'integer' || schema.type === 'number'
  const plainInput = {
    id,
    name,
    value: start,
    placeholder,
    required: parameter.in === 'path',
    inputmode: isNumber && 'decimal',
  }
  const input = allowed
    ? choiceInput({ id, name }, allowed.map(String), start, parameter.required)
    : el('input', { ...plainInput, autocomplete: 'off', spellcheck: 'false', autocapitalize: 'off' })
  const label = el('label', { for: id }, parameter.name)
  const row = el('div', { class: 'input' }, label, isKey(parameter) ? [input, newKeyButton(input)] : input)
  return { row, input, start: !isOffered || allowed ? undefined : offered }
}

/** In a query a number is text, and the same id all the same. */
const idOf = (sample) => (typeof sample === 'string' && /^\d{1,15}$/.test(sample) ? Number(sample) : sample)

function choiceInput(attributes, allowed, start, isRequired) {
  const options = (isRequired ? allowed : ['', ...allowed]).map((value) =>
    el('option', { value, selected: value === start }, value || say('not given')),
  )
  return el('select', attributes, options)
}

function newKeyButton(input) {
  const button = el('button', { type: 'button', class: 'quiet' }, say('New key'))
  button.addEventListener('click', () => {
    input.value = freshKey()
    input.dispatchEvent(new Event('input', { bubbles: true }))
  })
  return button
}

function bodyInput(operation) {
  const id = `docs-${operation.id}-body`
  const example = givenExample(operation.body)
  // What cannot be taken back keeps the id of its example, which nothing has.
  const start = () => JSON.stringify(operation.isDestructive ? example : withReal('', example), null, 2)
  const rows = String(Math.min(start().split('\n').length + 1, 16))
  const input = el('textarea', { id, name: 'body', rows, spellcheck: 'false', autocapitalize: 'off' }, start())
  return { row: el('div', { class: 'input body' }, el('label', { for: id }, say('Body')), input), input, start }
}

/** The request as the form has it. Both the command and the sending are made of it, so they cannot differ. */
function readRequest(operation, form) {
  const given = (where) =>
    operation.parameters
      .filter((parameter) => parameter.in === where)
      .map((parameter) => [parameter.name, form.elements[`${where}:${parameter.name}`].value])
      .filter(([, value]) => value !== '')
  const path = given('path').reduce(
    (at, [name, value]) => at.replace(`{${name}}`, () => encodeURIComponent(value)),
    operation.path,
  )
  const query = given('query').map((pair) => pair.map(encodeURIComponent).join('='))
  const body = operation.body ? form.elements.body.value : undefined
  return {
    method: operation.method.toUpperCase(),
    url: operation.server + path + (query.length > 0 ? `?${query.join('&')}` : ''),
    headers: [...given('header'), ...(body === undefined ? [] : [['Content-Type', 'application/json']])],
    needsToken: operation.needsToken,
    body,
  }
}

/** Between single quotes a shell takes everything as it is, but for the single quote. */
const quoted = (text) => `'${text.replaceAll("'", `'\\''`)}'`

function toCurl({ method, url, headers, needsToken, body }) {
  const parts = [
    method === 'GET' ? `curl ${quoted(url)}` : `curl -X ${method} ${quoted(url)}`,
    ...(needsToken ? ['-H "Authorization: Bearer $TOKEN"'] : []),
    ...headers.map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    ...(body === undefined ? [] : [`--data-raw ${quoted(body)}`]),
  ]
  return parts.join(' \\\n  ')
}

async function send(operation, form, outcome, example) {
  const button = form.querySelector('.send')
  button.disabled = true
  outcome.line.replaceChildren(el('span', { class: 'note' }, say('Waiting for the answer…')))
  outcome.rest.replaceChildren()
  const startedAt = performance.now()
  try {
    const response = await ask(readRequest(operation, form))
    const text = await response.text()
    outcome.line.replaceChildren(...toStatus(response, performance.now() - startedAt))
    outcome.rest.replaceChildren(toHeaders(response), codeBlock(prettyOf(text), say('The answer')))
    const isJson = response.headers.get('Content-Type')?.startsWith('application/json')
    if (response.ok && isJson) learn(example, JSON.parse(text))
  } catch (error) {
    outcome.line.replaceChildren(el('span', { class: 'trouble' }, troubleOf(error)))
  } finally {
    button.disabled = false
  }
}

function ask({ method, url, headers, needsToken, body }) {
  const token = document.getElementById('docs-token').value.trim()
  const all = new Headers(headers)
  if (needsToken && token !== '') all.set('Authorization', `Bearer ${token}`)
  const signal = AbortSignal.timeout(answerWithinMs)
  return fetch(url, { method, headers: all, body, signal, credentials: 'omit', cache: 'no-store', redirect: 'error' })
}

function toStatus(response, tookMs) {
  const words = `${response.status} ${response.statusText}`.trim()
  return [
    el('strong', {}, say('The answer')),
    el('strong', { class: `status ${response.ok ? 'good' : 'bad'}` }, words),
    el('span', { class: 'took' }, `${Math.round(tookMs)} ms`),
  ]
}

function toHeaders(response) {
  const given = shownHeaders.filter((name) => response.headers.has(name))
  return el(
    'dl',
    {},
    given.map((name) => [el('dt', {}, name), el('dd', {}, literal(response.headers.get(name)))]),
  )
}

function prettyOf(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

function troubleOf(error) {
  return error.name === 'TimeoutError'
    ? say(
        'No answer within {} seconds. The request may have been processed: send it again with the same key.',
        answerWithinMs / 1000,
      )
    : say(
        'The request could not be sent: {}. Check the connection, and the token for invalid characters.',
        error.message,
      )
}
