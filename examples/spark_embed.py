"""Embeds a corpus of any size with `wattn embed` under Apache Spark, one warm process a partition.

    spark-submit examples/spark_embed.py TEXTS OUT [--partitions N] [--command "wattn embed --threads 1"]

TEXTS has one text (or one JSON object with "text") a line; OUT becomes a folder of part files which, one after the other, are byte for
byte what `wattn embed < TEXTS` writes: the same lines, in the same order. A worker that dies has its partition done again by another.
Every machine needs Node and wattn; the command is split at blanks, as a shell would split it.
"""
import argparse

from pyspark.sql import SparkSession


def lines_of(context, path, partitions):
    """The lines of path, cut at line feeds alone, as wattn cuts them (textFile would cut at carriage returns too)."""
    records = context.newAPIHadoopFile(
        path, "org.apache.hadoop.mapreduce.lib.input.TextInputFormat", "org.apache.hadoop.io.LongWritable", "org.apache.hadoop.io.Text",
        conf={"textinputformat.record.delimiter": "\n", **split_size(context, path, partitions)})
    return records.values()


def split_size(context, path, partitions):
    """Splits of such a size that there are about as many as asked for; without a wish, Hadoop's blocks."""
    if partitions is None:
        return {}
    place = context._jvm.org.apache.hadoop.fs.Path(path)
    size = place.getFileSystem(context._jsc.hadoopConfiguration()).getContentSummary(place).getLength()
    return {"mapreduce.input.fileinputformat.split.maxsize": str(max(1, -(-size // partitions)))}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("texts")
    parser.add_argument("out")
    parser.add_argument("--partitions", type=int, help="about as many processes in all; a few for each core (default: one a block)")
    parser.add_argument("--command", default="wattn embed --threads 1")
    options = parser.parse_args()
    spark = SparkSession.builder.appName("wattn embed").getOrCreate()
    texts = lines_of(spark.sparkContext, options.texts, options.partitions)
    # checkCode: a process that ends with an error fails its partition, which Spark then does again (spark.task.maxFailures).
    texts.pipe(options.command, checkCode=True).saveAsTextFile(options.out)
    spark.stop()


if __name__ == "__main__":
    main()
