import { say } from './messages.js'

const maxColouredLength = 200_000

/** An element with attributes and children. Strings become text; false and undefined are left out. */
export function el(tag, attributes, ...children) {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value !== undefined && value !== false) element.setAttribute(name, value === true ? '' : value)
  }
  element.append(...children.flat(3).filter((child) => child !== undefined && child !== false && child !== ''))
  return element
}

/** Text in which `ticks` mark code. */
export const prose = (text) => (text ?? '').split('`').map((part, at) => (at % 2 ? el('code', {}, part) : part))
/** A paragraph of the description. */
export const paragraph = (text, kind) => text && el('p', { class: kind }, prose(text))
export const literal = (value) => el('code', {}, typeof value === 'string' ? value : JSON.stringify(value))

/** JSON on the page, with its strings, names, numbers and words told apart. */
export function codeBlock(text, label) {
  return el('pre', { class: 'code', tabindex: '0', 'aria-label': label }, coloured(text))
}

function coloured(text) {
  if (text.length > maxColouredLength) return [text]
  const token = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(?:true|false|null)\b|-?\b\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g
  const pieces = []
  let end = 0
  for (const match of text.matchAll(token)) {
    const kind = match[2] ? 'json-name' : match[1] ? 'json-text' : 'json-value'
    const shown = match[2] ? match[1] : match[0]
    pieces.push(text.slice(end, match.index), el('span', { class: kind }, shown))
    end = match.index + shown.length
  }
  return [...pieces, text.slice(end)]
}

/** Copies what an element shows, and says whether it did. */
export function copyButton(source) {
  const button = el('button', { type: 'button', class: 'quiet', 'aria-live': 'polite' }, say('Copy'))
  button.addEventListener('click', async () => {
    button.textContent = say((await copy(source)) ? 'Copied' : 'Selected')
    setTimeout(() => {
      button.textContent = say('Copy')
    }, 2000)
  })
  return button
}

/** Without HTTPS a browser gives no clipboard; then the text is selected, and the old command is tried. */
async function copy(source) {
  try {
    await navigator.clipboard.writeText(source.textContent)
    return true
  } catch {
    getSelection().selectAllChildren(source)
    return document.execCommand('copy')
  }
}
