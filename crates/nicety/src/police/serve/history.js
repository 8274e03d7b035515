// What the page remembers of each tenant, and how high a picture of it is. Draws nothing.

// Periods kept, and numbers of all tenants together.
const KEPT = 600;
const NUMBERS = 400000;
// A limit this many times what is sent is left above the picture.
const FAR = 4;
// Least height of a picture, as a share of the link.
const LEAST = 0.001;

class History {
  // Seconds since the host's boot, and by name what each tenant sent and might send then.
  at = [];
  tenants = new Map();

  // When the last period ended; 0 when there is none.
  last() { return this.at.length ? this.at[this.at.length - 1] : 0; }

  // Takes new periods of tenants of these names. Who is new has a past without values; who is gone
  // is forgotten. A host that was started anew begins anew.
  take(names, points, now) {
    if (now < this.last()) {
      this.at = [];
      this.tenants.clear();
    }
    const known = this.tenants;
    this.tenants = new Map(names.map((name) => [name, known.get(name)
      || { rate: this.at.map(() => null), limit: this.at.map(() => null) }]));
    const all = [...this.tenants.values()];
    const add = (at, values) => {
      this.at.push(at);
      all.forEach((of, i) => {
        of.rate.push(values ? values.rate[i] : null);
        of.limit.push(values ? values.limit[i] : null);
      });
    };
    for (const point of points) {
      // Of another policy, read in the same moment.
      if (point.rate.length !== all.length || point.at_s <= this.last()) continue;
      if (this.at.length && point.at_s - this.last() > this.pause) add(this.last() + 0.001, null);
      add(point.at_s, point);
    }
    const most = Math.max(2, Math.min(KEPT, Math.floor(NUMBERS / (2 * Math.max(1, all.length)))));
    const over = this.at.length - most;
    if (over > 0) for (const list of [this.at, ...all.flatMap((of) => [of.rate, of.limit])]) list.splice(0, over);
  }

  // A longer time without a period, in seconds, is a gap in the line.
  pause = 5;

  // The highest that one of these sent.
  highest(names) {
    return Math.max(0, ...names.map((name) => Math.max(0, ...this.tenants.get(name).rate)));
  }

  // What one sent on average.
  mean(name) {
    const rates = this.tenants.get(name).rate;
    return rates.reduce((sum, rate) => sum + rate, 0) / Math.max(1, rates.length);
  }
}

// How high a picture is, in bits per second: what is sent fits, and every mark that is not far above.
function heightOf(highest, marks, capacity) {
  const data = Math.max(highest, LEAST * capacity);
  const near = marks.filter((mark) => mark <= FAR * data);
  return 1.05 * Math.max(data, ...near);
}

// Which marks, given as word and value, are above a picture of this height.
function above(marks, top) {
  const words = marks.filter(([, value]) => value > top).map(([word, value]) => word + " " + readable(value));
  return words.length ? words.join(" and ") + (words.length > 1 ? " are" : " is") + " above this picture" : "";
}
